// Package batch is the code of docs/batch.md.
package batch

import (
	"context"
	"database/sql"
	"net/http"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/nebishttp"
)

// Line is one row of a delivery note.
type Line struct {
	Line int    `json:"line"`
	SKU  string `json:"sku"`
	Qty  int    `json:"qty"`
}

// Booked is its result.
type Booked struct {
	SKU string `json:"sku"`
	Qty int    `json:"qty"`
}

// For PostgreSQL write $1, $2, … in place of each ?.
var insertStock = `INSERT INTO stock (sku, qty) VALUES (?, ?)`

func book(ctx context.Context, tx *sql.Tx, l Line) (Booked, error) {
	if l.Qty < 1 {
		return Booked{}, nebishttp.RowError("a quantity is 1 or more")
	}
	_, err := tx.ExecContext(ctx, insertStock, l.SKU, l.Qty)
	return Booked{l.SKU, l.Qty}, err
}

// Import books the rows of a file. The note's number is the key: the same note, read
// again tomorrow on another machine, books only what is missing.
func Import(ctx context.Context, store *nebis.Store, note string, rows []nebis.Row[Line]) (failed []nebis.RowResult[Booked], err error) {
	op := nebis.Op{Scope: "delivery", Owner: nebis.Anyone, Key: note}
	results, err := nebis.Batch(ctx, store, op, rows, book)
	for _, r := range results {
		if r.Err != nil { // r.Status is nebis.RowFailed or nebis.RowNotRun
			failed = append(failed, r)
		}
	}
	return failed, err
}

// Handler takes the same rows as a JSON array.
func Handler(m *nebishttp.Middleware) http.Handler {
	return nebishttp.Batch(m, "delivery-api", func(r *http.Request, tx *sql.Tx, l Line) (Booked, error) {
		return book(r.Context(), tx, l)
	}, &nebishttp.BatchRoute{Row: "line"})
}
