package main

import (
	"context"
	"database/sql"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nebis-dev/nebis/cmd/internal/dburl/dburltest"
)

// A coupon is as its service's books and the shop's tables have it.
type coupon struct{ calls, requests, done, given, points int }

func couponIn(t *testing.T, db *sql.DB) (c coupon) {
	t.Helper()
	for query, into := range map[string]*int{
		`SELECT COUNT(*) FROM nebis_demo_outbox WHERE name = 'coupon'`:                     &c.calls,
		`SELECT COALESCE(SUM(requests), 0) FROM nebis_demo_books WHERE service = 'coupon'`: &c.requests,
		`SELECT COALESCE(SUM(done), 0) FROM nebis_demo_books WHERE service = 'coupon'`:     &c.done,
		`SELECT COUNT(*) FROM nebis_demo_coupons WHERE state = 'given'`:                    &c.given,
		`SELECT COALESCE(SUM(points), 0) FROM nebis_demo_points`:                           &c.points,
	} {
		if err := db.QueryRowContext(t.Context(), query).Scan(into); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// until polls the database until the coupon is as wanted.
func until(t *testing.T, db *sql.DB, what string, is func(coupon) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for c := couponIn(t, db); !is(c); c = couponIn(t, db) {
		if ctx.Err() != nil {
			t.Fatalf("waited for %s: %+v", what, c)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// post sends a form to the demo and wants an answer with some text.
func (p *process) post(path, fields, says string) {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, p.base+path, strings.NewReader(fields))
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if status, _, page := p.send(req); status >= http.StatusBadRequest || !strings.Contains(page, says) {
		p.t.Fatalf("%s: %d %s; %s", path, status, page, &p.stderr)
	}
}

// What happens to the demo's payments is in its numbers, and the commands find its
// tables where no other is there.
func TestTheDemosPaymentsAreSeenFromOutside(t *testing.T) {
	dburltest.Everywhere(t, func(t *testing.T, dbURL string) {
		addr := free(t)
		p := startWith(t, []string{"NEBIS_DB=" + dbURL}, "demo", "--addr", "127.0.0.1:0", "--metrics", addr)
		p.listening()
		p.order("paid", `{"item":"tea","qty":1}`)
		p.order("picked-up", `{"item":"tea","qty":1}`)
		p.post("/orders/2/pickup", "", "")
		p.post("/provider/1", "times=3&gap=0&drop=0&coupon=never", "<b>3</b> acknowledged")
		p.post("/provider/1", "times=2&gap=0&drop=0&coupon=never&signature=wrong", "<b>0</b> acknowledged")
		p.post("/provider/2", "times=1&gap=0&drop=0&coupon=works", "<b>0</b> acknowledged")
		db, _ := dburltest.Open(t, dbURL)
		until(t, db, "the compensation", func(c coupon) bool { return c.points == 10+12+30+10 })

		k := &keyed{t: t, url: dbURL}
		k.want(0, "compensated", "outbox", "list")
		k.want(0, "table nebis_demo_outbox in", "outbox", "list", "--state", "compensated")
		k.want(0, "refused: 422", "outbox", "show", "1")
		if code, stdout, stderr := k.call("callback", "failures"); code != 1 || !strings.Contains(stdout, "nobody waits for the money") {
			t.Errorf("exit %d, %s%s", code, stdout, stderr)
		}
		text := ""
		for !strings.Contains(text, `{name="coupon",outcome="compensated"} 1`) { // it is counted after its commit
			_, text = scrape(t, "http://"+addr+"/metrics")
		}
		wantLines(t, text,
			`nebis_callback_answers_total{outcome="acknowledged",provider="epay"} 3`,
			`nebis_callback_answers_total{outcome="refused",provider="epay"} 2`,
			`nebis_callback_answers_total{outcome="failed",provider="epay"} 1`,
			`nebis_outbox_tries_total{name="coupon",outcome="compensating"} 1`,
			`nebis_callback_failures{table="nebis_demo_idempotency"} 1`)
		p.stop()
	})
}
