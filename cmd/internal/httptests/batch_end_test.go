package httptests

import (
	"context"
	"database/sql"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
	"github.com/nebis-dev/nebis/nebishttp"
)

// Row 2 works until the deadline; row 1 may have been caught by it, on a slow machine.
func TestRowsAfterTheDeadlineAreNotRunAndRunNextTime(t *testing.T) {
	each(t, func(t *testing.T, c dbtest.Config) {
		var hang func(ctx context.Context)
		s := newSite(t, c, nil, func(s *site, mux *http.ServeMux) {
			mux.Handle("/", nebishttp.Batch(s.m, "order", func(r *http.Request, tx *sql.Tx, l line) (receipt, error) {
				if l.Line == "A-2" {
					hang(r.Context())
				}
				_, err := tx.ExecContext(r.Context(), `INSERT INTO orders (item) VALUES ('tea')`)
				return receipt{s.ran.Add(1), l.Item}, err
			}, &nebishttp.BatchRoute{Row: "line", Deadline: time.Second}))
		})
		hang = func(ctx context.Context) { <-ctx.Done() }
		p, rows := s.batch("k", lines(4))
		s.want(p, 200, "released")
		for i, status := range []string{"created", "failed", "not-run", "not-run"} {
			if i > 0 && (rows[i].Error.Type != "urn:nebis:problem:not-run" || rows[i].Status != status && rows[i].Status != "not-run") {
				t.Errorf("%+v", rows[i])
			}
		}
		hang = func(context.Context) {}
		for statuses(rows)["replayed"] < 4 {
			_, rows = s.batch("k", lines(4))
		}
		s.wantOrders(4)
	})
}

func TestABatchGoesOnWhenItsClientIsGone(t *testing.T) {
	begun, gone := make(chan struct{}), make(chan struct{})
	var once sync.Once
	s := batches(t, sqlite, func(l line) error {
		once.Do(func() { close(begun); <-gone })
		return nil
	}, byLine)
	ctx, cancel := context.WithCancel(t.Context())
	body, _ := json.Marshal(lines(3))
	r, _ := http.NewRequestWithContext(ctx, "POST", s.url+"/orders/batch", strings.NewReader(string(body)))
	r.Header = http.Header{ctype: {js}, key: {"k"}}
	go func() { <-begun; cancel() }()
	if _, err := client.Do(r); err == nil {
		t.Fatal("answered")
	}
	close(gone)
	_, rows := s.batch("k", lines(3))
	for rows[2].Status != "replayed" && rows[2].Status != "created" { // a row may be under way
		_, rows = s.batch("k", lines(3))
	}
	s.wantOrders(3)
	if n := s.ran.Load(); n != 3 {
		t.Errorf("%d runs", n)
	}
}
