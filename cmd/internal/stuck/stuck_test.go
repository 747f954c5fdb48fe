package stuck

import (
	"context"
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
	"github.com/nebis-dev/nebis/cmd/internal/keytable"
)

// over is how long a transaction may be open in these tests.
const over = time.Second

type held struct {
	testing.TB
	c  dbtest.Config
	db *sql.DB
	t  *keytable.Table

	free func() // lets a statement go on; nil: none waits
}

func each(t *testing.T, test func(h *held)) {
	for _, c := range dbtest.Each() {
		t.Run(c.Name, func(t *testing.T) { test(newHeld(t, c)) })
	}
}

func newHeld(t *testing.T, c dbtest.Config) *held {
	return newHeldIn(t, c, c.Open(t))
}

func newHeldIn(t *testing.T, c dbtest.Config, db *sql.DB) *held {
	h := &held{TB: t, c: c, db: db}
	if _, err := h.store().Migrate(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	var err error
	if h.t, err = keytable.Look(t.Context(), h.db, c.Dialect, "idempotency"); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *held) store() *nebis.Store {
	s, err := nebis.New(h.db, h.c.Dialect, nil)
	if err != nil {
		h.Fatal(err)
	}
	return s
}

// hold does an operation whose function stays in its transaction until the test
// has looked at it.
func (h *held) hold(look func()) {
	h.Helper()
	inside, seen := make(chan struct{}), make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		_, _, err := nebis.Do(context.Background(), h.store(), nebis.Op{Scope: "order", Owner: "ann", Key: "secret-key-1"}, func(context.Context, *sql.Tx) (int, error) {
			close(inside)
			<-seen
			return 1, nil
		})
		ended <- err
	}()
	select {
	case <-inside:
		look()
	case err := <-ended:
		h.Fatal(err)
	}
	close(seen)
	if err := <-ended; err != nil {
		h.Error(err)
	}
}

func (h *held) find() *Report { return h.olderThan(over) }

func (h *held) olderThan(over time.Duration) *Report {
	h.Helper()
	r, err := Find(context.Background(), h.db, h.c.Dialect, h.t, over, time.Minute)
	if err != nil {
		h.Fatal(err)
	}
	return r
}

// until looks again and again until a transaction is old enough to be found.
func (h *held) until() *Report {
	for {
		if r := h.find(); len(r.Held) > 0 {
			return r
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func TestATransactionThatHoldsAClaimIsFound(t *testing.T) {
	each(t, func(h *held) {
		if r := h.find(); len(r.Held) != 0 {
			h.Errorf("with nothing open: %+v", r)
		}
		h.hold(func() {
			r := h.until()
			if len(r.Held) != 1 {
				h.Fatalf("%+v", r)
			}
			x := r.Held[0]
			if x.Age < over || strings.Contains(x.String(), "secret-key") {
				h.Errorf("%s", x)
			}
			if h.c.Kind != dbtest.SQLite && (x.Connection == 0 || x.User != "nebis") {
				h.Errorf("it does not say who: %s, limits %q", x, r.Limits)
			}
			if h.c.Dialect == nebis.MySQL && x.Scope != "order" {
				h.Errorf("it does not say which: %s", x)
			}
			h.Log(x)
		})
		if r := h.find(); len(r.Held) != 0 {
			h.Errorf("after its end: %+v", r)
		}
	})
}

// A transaction that has nothing to do with the key table is nobody's business.
func TestOtherTransactionsAreNotFound(t *testing.T) {
	for _, name := range []string{"mariadb", "mysql56", "postgres-pgx"} {
		t.Run(name, func(t *testing.T) {
			h := newHeld(t, dbtest.Lookup(name))
			if _, err := h.db.Exec("CREATE TABLE other (a INT)"); err != nil {
				t.Fatal(err)
			}
			tx, err := h.db.Begin()
			if err != nil {
				t.Fatal(err)
			}
			defer tx.Rollback()
			if _, err := tx.Exec("INSERT INTO other VALUES (1)"); err != nil {
				t.Fatal(err)
			}
			h.hold(func() {
				if r := h.until(); len(r.Held) != 1 {
					t.Errorf("%+v", r)
				}
			})
			if r := h.find(); len(r.Held) != 0 {
				t.Errorf("%+v", r)
			}
		})
	}
}

// A lease is a row that everybody sees, and no transaction.
func TestALeaseIsNotAnOpenTransaction(t *testing.T) {
	each(t, func(h *held) {
		if h.c.Kind == dbtest.SQLite {
			h.Skip("a row of SQLite's is committed or not there")
		}
		_, _, err := nebis.Lease(context.Background(), h.store(), nebis.Op{Scope: "order", Owner: "ann", Key: "lease"}, nil, func(context.Context) (int, error) {
			if r := h.olderThan(time.Microsecond); len(r.Held) != 0 {
				h.Errorf("%+v", r)
			}
			return 1, nil
		})
		if err != nil {
			h.Error(err)
		}
	})
}

// poor returns the database as an account sees it that may use the key table and
// nothing else.
func (h *held) poor(dsn string) *sql.DB {
	h.Helper()
	here := "SELECT DATABASE()"
	if h.c.Dialect == nebis.Postgres {
		here = "SELECT current_schema()"
	}
	var name string
	if err := h.db.QueryRow(here).Scan(&name); err != nil {
		h.Fatal(err)
	}
	user := "u" + name[2:]
	grants, end := []string{"CREATE USER '" + user + "'@'127.0.0.1' IDENTIFIED BY 'x'", "GRANT SELECT ON " + name + ".* TO '" + user + "'@'127.0.0.1'"}, "DROP USER '"+user+"'@'127.0.0.1'"
	if h.c.Dialect == nebis.Postgres {
		grants = []string{"CREATE ROLE " + user + " LOGIN PASSWORD 'x'", "GRANT USAGE ON SCHEMA " + name + " TO " + user, "GRANT SELECT ON idempotency TO " + user}
		end = "DROP OWNED BY " + user + "; DROP ROLE " + user
	}
	for _, q := range grants {
		if _, err := h.db.Exec(q); err != nil {
			h.Fatal(err)
		}
	}
	h.Cleanup(func() {
		admin := h.c.Pool(h, dsn)
		defer admin.Close()
		admin.ExecContext(context.Background(), end)
	})
	return h.c.Pool(h, strings.Replace(dsn, "nebis:nebis@", user+":x@", 1))
}

// With few rights less can be told, and what is missing is said.
func TestWithFewRightsTheLimitsAreSaid(t *testing.T) {
	for name, wants := range map[string]string{"mariadb": "GRANT PROCESS", "mysql56": "GRANT PROCESS", "postgres-pgx": "GRANT pg_read_all_stats"} {
		t.Run(name, func(t *testing.T) {
			c := dbtest.Lookup(name)
			dsn := c.Fresh(t)
			h := newHeldIn(t, c, c.Pool(t, dsn))
			poor := h.poor(dsn)
			seen, err := keytable.Look(t.Context(), poor, c.Dialect, "idempotency")
			if err != nil {
				t.Fatal(err)
			}
			h.hold(func() {
				h.until()
				r, err := Find(context.Background(), poor, c.Dialect, seen, over, time.Minute)
				if err != nil {
					t.Error(err)
					return
				}
				if !strings.Contains(strings.Join(r.Limits, " "), wants) {
					t.Errorf("%+v", r)
				}
				if c.Dialect == nebis.MySQL && (len(r.Held) != 1 || r.Held[0].Scope != "order" || r.Held[0].Connection != 0) {
					t.Errorf("the key can be told without any rights: %+v", r.Held)
				}
			})
		})
	}
}
