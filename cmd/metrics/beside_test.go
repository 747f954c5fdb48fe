package metrics

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/callback"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
	"github.com/nebis-dev/nebis/outbox"
)

// What providers are answered is counted.
func TestCallbacksAreCounted(t *testing.T) {
	g := newGround(t, dbtest.Lookup("sqlite-modernc"))
	must(t, callback.Migrate(t.Context(), g.db, g.store))
	begun, goOn := make(chan struct{}), make(chan struct{})
	p := callback.Provider{Name: "pay", Read: func(_ *http.Request, body []byte) (callback.Event, error) {
		if string(body) == "forged" {
			return callback.Event{}, callback.ErrSignature
		}
		return callback.Event{Delivery: string(body)}, nil
	}}
	h := g.m.Callback("pay", callback.Handler(g.store, p, func(_ context.Context, _ *sql.Tx, e callback.Event) error {
		switch e.Delivery {
		case "bad":
			return errors.New("no such order")
		case "slow":
			close(begun)
			<-goOn
		}
		return nil
	}, &callback.Options{Wait: -1, Log: slog.New(slog.DiscardHandler)}))
	send := func(body string) {
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body)))
	}
	g.has(map[string]float64{`nebis_callback_answers_total{outcome="failed",provider="pay"}`: 0})
	ended := make(chan struct{})
	go func() { defer close(ended); send("slow") }()
	<-begun
	send("slow")
	close(goOn)
	<-ended
	for _, body := range []string{"good", "good", "forged", "bad"} {
		send(body)
	}
	g.has(map[string]float64{
		`nebis_callback_answers_total{outcome="acknowledged",provider="pay"}`: 3,
		`nebis_callback_answers_total{outcome="refused",provider="pay"}`:      1,
		`nebis_callback_answers_total{outcome="busy",provider="pay"}`:         1,
		`nebis_callback_answers_total{outcome="failed",provider="pay"}`:       1,
		`nebis_callback_answers_total{outcome="failed",provider=""}`:          0,
		`nebis_operations_total{outcome="ran",scope="pay"}`:                   2,
	})
}

// What becomes of the outbox's tries is counted.
func TestTriesOfTheOutboxAreCounted(t *testing.T) {
	each(t, func(g *ground) {
		x, err := outbox.New(g.db, g.c.Dialect, &outbox.Options{Observe: g.m.ObserveOutbox, Poll: time.Millisecond})
		must(g.T, err)
		must(g.T, x.Migrate(g.Context()))
		x.Handle("charge", outbox.Call{Do: func(_ context.Context, j *outbox.Job) (any, error) {
			switch {
			case string(j.Payload) == "1":
				return nil, outbox.Permanent(errors.New("no money"))
			case string(j.Payload) == "2" && j.Attempts == 1:
				return nil, outbox.RetryAfter(0, errors.New("not now"))
			}
			return nil, nil
		}})
		must(g.T, g.store.Tx(g.Context(), func(ctx context.Context, tx *sql.Tx) error {
			for i := range 3 {
				if _, err := x.Add(ctx, tx, "charge", i); err != nil {
					return err
				}
			}
			return nil
		}))
		ctx, stop := context.WithCancel(g.Context())
		ended := make(chan error)
		go func() { ended <- x.Run(ctx) }()
		for g.scrape()[`nebis_outbox_try_seconds{name="charge"}`] != 4 {
			time.Sleep(time.Millisecond)
		}
		stop()
		must(g.T, <-ended)
		g.has(map[string]float64{
			`nebis_outbox_tries_total{name="charge",outcome="done"}`:   2,
			`nebis_outbox_tries_total{name="charge",outcome="dead"}`:   1,
			`nebis_outbox_tries_total{name="charge",outcome="failed"}`: 1,
			`nebis_outbox_tries_total{name="charge",outcome="lost"}`:   0,
			`nebis_outbox_tries_total{name="",outcome="done"}`:         0,
		})
	})
}

// Two ways of a try to have no result of its own.
func TestLostAndUnreachableTriesAreCounted(t *testing.T) {
	g := newGround(t, dbtest.Lookup("sqlite-modernc"))
	g.m.ObserveOutbox(t.Context(), outbox.Event{Err: errors.New("the database is away")})
	g.m.ObserveOutbox(t.Context(), outbox.Event{ID: 1, Name: "charge", State: outbox.Done, Err: nebis.ErrLost})
	g.has(map[string]float64{
		`nebis_outbox_tries_total{name="",outcome="unreachable"}`: 1,
		`nebis_outbox_tries_total{name="charge",outcome="lost"}`:  1,
		`nebis_outbox_tries_total{name="charge",outcome="done"}`:  0,
	})
}
