package callbacktests

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/callback"
	"github.com/nebis-dev/nebis/callback/callbacktest"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

// shop takes the callbacks of one provider.
type shop struct {
	t      *testing.T
	c      dbtest.Config
	db     *sql.DB
	store  *nebis.Store
	name   string // of its sender
	sender sending
	o      callback.Options
	url    string
	runs   atomic.Int64
	before func(callback.Event) error // runs in the function, before its work
}

// reply is what a provider gets.
type reply struct {
	status int
	body   string
}

// databases are one configuration of each: drivers are for the tests of the core.
func databases() (all []dbtest.Config) {
	for _, name := range []string{"mariadb", "mysql56", "postgres-pgx", "sqlite-modernc"} {
		all = append(all, dbtest.Lookup(name))
	}
	return all
}

// everywhere runs a test for each provider, and one of them on each database: what
// differs between databases does not differ between providers.
func everywhere(t *testing.T, test func(t *testing.T, s *shop)) {
	t.Helper()
	where(t, "", test)
}

// where is everywhere without the senders that lack something.
func where(t *testing.T, has string, test func(t *testing.T, s *shop)) {
	t.Helper()
	for _, c := range databases() {
		for name, sender := range senders {
			if sender.lacks[has] != "" {
				continue
			}
			if c.Name == "sqlite-modernc" || name == "wechatpay" {
				run(t, c.Name+" "+name, c, name, test)
			}
		}
	}
}

// one runs a test for one provider on each database.
func one(t *testing.T, name string, test func(t *testing.T, s *shop)) {
	t.Helper()
	for _, c := range databases() {
		run(t, c.Name, c, name, test)
	}
}

func run(t *testing.T, title string, c dbtest.Config, name string, test func(t *testing.T, s *shop)) {
	t.Helper()
	t.Run(title, func(t *testing.T) {
		t.Parallel()
		test(t, open(t, c, name))
	})
}

func open(t *testing.T, c dbtest.Config, name string) *shop {
	t.Helper()
	sender, err := senders[name].make(callbacktest.Keys{})
	s := &shop{t: t, c: c, db: c.Open(t), name: name, sender: sender}
	if err == nil {
		s.store, err = nebis.New(s.db, c.Dialect, nil)
	}
	if err == nil {
		_, err = s.store.Migrate(t.Context(), false)
	}
	if err == nil {
		err = callback.Migrate(t.Context(), s.db, s.store)
	}
	for _, statement := range []string{
		`CREATE TABLE orders (number VARCHAR(40) PRIMARY KEY, status VARCHAR(20) NOT NULL, points INTEGER NOT NULL, refunded INTEGER NOT NULL)`,
		`INSERT INTO orders VALUES ('1001', 'pending', 0, 0)`,
	} {
		if err == nil {
			_, err = s.db.ExecContext(t.Context(), statement)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	s.o.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
	s.serve()
	return s
}

// serve starts the shop, anew with the options that were changed.
func (s *shop) serve() { s.serveAs(s.handle) }

// serveAs is serve with other code than the shop's own.
func (s *shop) serveAs(fn func(context.Context, *sql.Tx, callback.Event) error) {
	srv := httptest.NewServer(callback.Handler(s.store, s.sender.Provider, fn, &s.o))
	s.t.Cleanup(srv.Close)
	s.url = srv.URL
}

// sql writes a statement's placeholders as the database wants them.
func (s *shop) sql(query string) string {
	if s.c.Kind != dbtest.Postgres {
		return query
	}
	for n := 1; strings.Contains(query, "?"); n++ {
		query = strings.Replace(query, "?", fmt.Sprintf("$%d", n), 1)
	}
	return query
}

// handle is the shop's own code, with all three layers.
func (s *shop) handle(ctx context.Context, tx *sql.Tx, e callback.Event) error {
	s.runs.Add(1)
	if s.before != nil {
		if err := s.before(e); err != nil {
			return err
		}
	}
	if strings.HasPrefix(e.Status, "payment.") {
		e = theirs(e)
	}
	switch e.State {
	case callback.Paid:
		_, err := callback.Once(ctx, s.store, tx, "points", e, s.pay(tx, e))
		return err
	case callback.Refunded:
		_, err := callback.Once(ctx, s.store, tx, "refund", e, s.refund(tx, e))
		return err
	case callback.Closed:
		_, err := callback.Moved(tx.ExecContext(ctx, s.sql(`UPDATE orders SET status = 'closed' WHERE number = ? AND status = 'pending'`), e.Order))
		return err
	}
	return nil
}

func (s *shop) pay(tx *sql.Tx, e callback.Event) func(context.Context) error {
	return func(ctx context.Context) error {
		moved, err := callback.Moved(tx.ExecContext(ctx, s.sql(`UPDATE orders SET status = 'paid' WHERE number = ? AND status = 'pending'`), e.Order))
		if err == nil && moved {
			_, err = tx.ExecContext(ctx, s.sql(`UPDATE orders SET points = points + ? WHERE number = ?`), e.Amount/100, e.Order)
		}
		return err
	}
}

// refund knows that Alipay says what was given back in all.
func (s *shop) refund(tx *sql.Tx, e callback.Event) func(context.Context) error {
	query := `UPDATE orders SET refunded = refunded + ? WHERE number = ?`
	if e.Provider == "alipay" {
		query = `UPDATE orders SET refunded = ? WHERE number = ?`
	}
	return func(ctx context.Context) error {
		_, err := tx.ExecContext(ctx, s.sql(query), e.Refunded, e.Order)
		return err
	}
}

// theirs reads the notices of the senders of Standard Webhooks in these tests.
func theirs(e callback.Event) callback.Event {
	var notice struct {
		Data struct {
			Order, Payment, Refund string
			Amount, Refunded       int64
		}
	}
	if err := json.Unmarshal(e.Body, &notice); err != nil {
		panic(err)
	}
	d := notice.Data
	e.Order, e.Payment, e.Refund, e.Amount, e.Refunded = d.Order, d.Payment, d.Refund, d.Amount, d.Refunded
	e.State = callback.State(strings.TrimPrefix(e.Status, "payment."))
	return e
}

// send sends one notice.
func (s *shop) send(n callbacktest.Notice) reply {
	s.t.Helper()
	r, err := s.sender.Request(s.url, n)
	if err != nil {
		s.t.Error(err)
		return reply{}
	}
	return s.do(r)
}

func (s *shop) do(r *http.Request) reply {
	s.t.Helper()
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return reply{}
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Error(err)
	}
	return reply{res.StatusCode, string(body)}
}

func (s *shop) acknowledged() reply { return senders[s.name].acknowledged }

func (s *shop) refused(status int) reply { return senders[s.name].refused(status) }

// want fails the test unless the notice is answered so, and the provider takes it so.
func (s *shop) want(n callbacktest.Notice, want reply) {
	s.t.Helper()
	s.got(s.send(n), want)
}

func (s *shop) got(got, want reply) {
	s.t.Helper()
	if got != want {
		s.t.Errorf("answered %v, want %v", got, want)
	}
	if done := s.sender.Acknowledged(got.status, []byte(got.body)); done != (want == s.acknowledged()) {
		s.t.Errorf("%v: taken for acknowledged: %v", got, done)
	}
}

// order fails the test unless the order is so: status, points and what was given back.
func (s *shop) order(want string) {
	s.t.Helper()
	var status string
	var points, refunded int
	err := s.db.QueryRowContext(s.t.Context(), `SELECT status, points, refunded FROM orders WHERE number = '1001'`).Scan(&status, &points, &refunded)
	if got := fmt.Sprint(status, " ", points, " ", refunded); err != nil || got != want {
		s.t.Errorf("the order is %q (%v), want %q", got, err, want)
	}
}

// ran fails the test unless the shop's code has run n times.
func (s *shop) ran(n int64) {
	s.t.Helper()
	if got := s.runs.Load(); got != n {
		s.t.Errorf("%d runs, want %d", got, n)
	}
}

// rows fails the test unless n keys are remembered.
func (s *shop) rows(n int) {
	s.t.Helper()
	var got int
	if err := s.db.QueryRowContext(s.t.Context(), `SELECT COUNT(*) FROM idempotency`).Scan(&got); err != nil || got != n {
		s.t.Errorf("%d keys are remembered (%v), want %d", got, err, n)
	}
}

func (s *shop) exec(statement string) {
	s.t.Helper()
	if _, err := s.db.ExecContext(s.t.Context(), statement); err != nil {
		s.t.Fatal(err)
	}
}

var errShop = errors.New("the shop's printer is on fire")
