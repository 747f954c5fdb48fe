package shop

import (
	"context"
	"database/sql"
	"html/template"
	"net/http"
	"strconv"
	"time"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/nebishttp"
)

// Fifty orders at once: one key for the batch, an operation for each row.

const (
	batchRows     = 50
	batchDeadline = 30 * time.Second
)

// stumbles are the rows that fail, on purpose, when a batch is sent for the first time.
var stumbles = map[int]bool{7: true, 20: true}

// line is one row of a batch.
type line struct {
	No   int    `json:"no"`
	Item string `json:"item"`
	Qty  int    `json:"qty"`
}

func fifty() []nebis.Row[line] {
	rows := make([]nebis.Row[line], batchRows)
	for i := range rows {
		no := i + 1
		rows[i] = nebis.Row[line]{Key: strconv.Itoa(no), In: line{no, "tea", 1}}
	}
	return rows
}

// placeBatch orders them all. The page is the answer: reloading it sends the batch
// again, which does no harm and is what the page shows.
func (s *Shop) placeBatch(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	key, err := nebishttp.KeyOf(r)
	if err != nil {
		nebishttp.WriteError(w, r, err)
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), batchDeadline)
	defer cancel()
	first := r.PostFormValue("first") == "1"
	op := nebis.Op{Scope: "batch", Owner: visitorOf(r), Key: key}
	results, err := nebis.Batch(ctx, s.store, op, fifty(), func(ctx context.Context, tx *sql.Tx, l line) (order, error) {
		wish := wish{item: l.Item, qty: l.Qty}
		if first && stumbles[l.No] {
			wish.fail = "error"
		}
		return s.place(ctx, tx, visitorOf(r), wish, keyed)
	})
	if err != nil {
		nebishttp.WriteError(w, r, err)
		return
	}
	s.showBatch(w, r, key, results)
}

// batchPage is the page before and after.
type batchPage struct {
	Field   template.HTML
	Key     string
	Results []nebis.RowResult[order]
	Count   map[string]int
}

func (s *Shop) batchPage(w http.ResponseWriter, r *http.Request) error {
	s.showBatch(w, r, nebishttp.NewKey(), nil)
	return nil
}

func (s *Shop) showBatch(w http.ResponseWriter, r *http.Request, key string, results []nebis.RowResult[order]) {
	count := map[string]int{}
	for _, res := range results {
		count[string(res.Status)]++
		s.tally.arrived(true) // each row is an operation
		if res.Err == nil {
			s.tally.answered(res.Out.ID, true, string(res.Status))
		}
	}
	v := s.view(r, say(langOf(r), "batch_title"))
	v.Nav, v.Data = "batch", batchPage{nebishttp.FieldKey(w, r, key), key, results, count}
	s.render(w, http.StatusOK, "batch", v)
}
