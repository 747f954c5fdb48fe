package callbacktests

import (
	"context"
	"database/sql"
	"sync"
	"testing"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/callback"
	"github.com/nebis-dev/nebis/callback/callbacktest"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

// servers runs a test on each database on which two transactions can be at work.
func servers(t *testing.T, test func(t *testing.T, s *shop)) {
	t.Helper()
	for _, c := range databases() {
		if c.Kind != dbtest.SQLite {
			run(t, c.Name, c, "wechatpay", test)
		}
	}
}

// A meeting has two deliveries, "a" and "b", wait for each other in their first run.
type meeting struct {
	there [2]chan bool
	once  [2]sync.Once
}

func newMeeting() *meeting { return &meeting{there: [2]chan bool{make(chan bool), make(chan bool)}} }

// reached says that one of them is there and waits until the other is.
func (m *meeting) reached(ctx context.Context, delivery string) error {
	me := 0
	if delivery == "b" {
		me = 1
	}
	m.once[me].Do(func() { close(m.there[me]) })
	select {
	case <-m.there[1-me]:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// sendBoth sends the two at the same time, and each wants to be acknowledged.
func (s *shop) sendBoth() {
	var all sync.WaitGroup
	for _, delivery := range []string{"a", "b"} {
		all.Go(func() { s.want(callbacktest.Notice{Delivery: delivery}, s.acknowledged()) })
	}
	all.Wait()
}

func (s *shop) add(ctx context.Context, tx *sql.Tx, order string) error {
	_, err := tx.ExecContext(ctx, s.sql(`UPDATE orders SET points = points + 1 WHERE number = ?`), order)
	return err
}

func (s *shop) points(want int) {
	s.t.Helper()
	var got int
	if err := s.db.QueryRowContext(s.t.Context(), `SELECT SUM(points) FROM orders`).Scan(&got); err != nil || got != want {
		s.t.Errorf("%d points in all (%v), want %d", got, err, want)
	}
}

// Two deliveries lock the same two rows, each in its own order.
func TestTheLoserOfADeadlockRunsAgain(t *testing.T) {
	servers(t, func(t *testing.T, s *shop) {
		s.exec(`INSERT INTO orders VALUES ('a', 'pending', 0, 0), ('b', 'pending', 0, 0)`)
		m, other := newMeeting(), map[string]string{"a": "b", "b": "a"}
		s.serveAs(func(ctx context.Context, tx *sql.Tx, e callback.Event) error {
			s.runs.Add(1)
			if err := s.add(ctx, tx, e.Delivery); err != nil {
				return err
			}
			if err := m.reached(ctx, e.Delivery); err != nil {
				return err
			}
			return s.add(ctx, tx, other[e.Delivery])
		})
		s.sendBoth()
		s.points(4)
		s.ran(3)
		if all := s.failures(); len(all) != 0 {
			t.Errorf("noted: %+v", all)
		}
	})
}

// The two meet in the business that both of them tell of, each with a row of the
// other's order in its hands.
func TestTheLoserOfADeadlockInOnceRunsAgain(t *testing.T) {
	servers(t, func(_ *testing.T, s *shop) {
		s.exec(`INSERT INTO orders VALUES ('b', 'pending', 0, 0)`)
		m := newMeeting()
		s.serveAs(func(ctx context.Context, tx *sql.Tx, e callback.Event) error {
			s.runs.Add(1)
			once := func() error {
				_, err := callback.Once(ctx, s.store, tx, "points", e, func(ctx context.Context) error { return s.add(ctx, tx, "1001") })
				return err
			}
			held := func() error { return s.add(ctx, tx, "b") }
			first, second := once, held
			if e.Delivery == "b" {
				first, second = held, once
			}
			if err := first(); err != nil {
				return err
			}
			if err := m.reached(ctx, e.Delivery); err != nil {
				return err
			}
			return second()
		})
		s.sendBoth()
		s.points(3) // one of the business, one of each delivery
		s.ran(3)
	})
}

// Each of the two has read what the other one changes. One of them learns of it at its
// commit.
func TestTheLoserOfASerializationFailureRunsAgain(t *testing.T) {
	run(t, "postgres-pgx", dbtest.Lookup("postgres-pgx"), "wechatpay", func(t *testing.T, s *shop) {
		var err error
		if s.store, err = nebis.New(s.db, s.c.Dialect, &nebis.Options{Isolation: sql.LevelSerializable}); err != nil {
			t.Fatal(err)
		}
		s.exec(`INSERT INTO orders VALUES ('a', 'pending', 1, 0), ('b', 'pending', 1, 0)`)
		m := newMeeting()
		s.serveAs(func(ctx context.Context, tx *sql.Tx, e callback.Event) error {
			s.runs.Add(1)
			var sum int
			if err := tx.QueryRowContext(ctx, `SELECT SUM(points) FROM orders`).Scan(&sum); err != nil {
				return err
			}
			if err := m.reached(ctx, e.Delivery); err != nil {
				return err
			}
			_, err := tx.ExecContext(ctx, s.sql(`UPDATE orders SET points = ? WHERE number = ?`), sum, e.Delivery)
			return err
		})
		s.sendBoth()
		s.points(2 + 3) // one after the other; both at once would make 4
	})
}

// What the database says, in its own words, and how often the function runs.
var said = map[nebis.Dialect]map[string]int64{
	nebis.MySQL: {
		`SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213`: 5, // a deadlock
		`SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1020`: 5, // the row has changed
		`SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1205`: 1, // waited too long
		`SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 1644`: 1, // a trigger's own
	},
	nebis.Postgres: {
		`DO 'BEGIN RAISE USING ERRCODE = ''40P01''; END'`: 5,
		`DO 'BEGIN RAISE USING ERRCODE = ''40001''; END'`: 5,
		`DO 'BEGIN RAISE USING ERRCODE = ''55P03''; END'`: 1,
		`DO 'BEGIN RAISE USING ERRCODE = ''P0001''; END'`: 1,
	},
}

// It runs again a few times, not for ever, and for nothing but what was lost to others.
func TestWhatRunsAgainAndHowOften(t *testing.T) {
	servers(t, func(t *testing.T, s *shop) {
		noted := 0
		for statement, runs := range said[s.c.Dialect] {
			s.runs.Store(0)
			s.serveAs(func(ctx context.Context, tx *sql.Tx, e callback.Event) error {
				s.runs.Add(1)
				if err := s.add(ctx, tx, e.Order); err != nil {
					return err
				}
				_, err := tx.ExecContext(ctx, statement)
				return err
			})
			s.want(callbacktest.Notice{Delivery: statement}, s.refused(500))
			noted++
			s.points(0)
			s.rows(0)
			if n := s.runs.Load(); n != runs {
				t.Errorf("%s: %d runs, want %d", statement, n, runs)
			}
			if all := s.failures(); len(all) != noted || all[0].Attempts != 1 {
				t.Errorf("%s: noted as %+v", statement, all)
			}
		}
	})
}

// The shop's own error does, whatever it is called; nor does a panic.
func TestAFailureOfTheShopsOwnDoesNotRunAgain(t *testing.T) {
	everywhere(t, func(_ *testing.T, s *shop) {
		s.before = func(e callback.Event) error {
			if e.Delivery == "panic" {
				panic("out of paper")
			}
			return errShop
		}
		for i, delivery := range []string{"error", "panic"} {
			s.want(callbacktest.Notice{Delivery: delivery}, s.refused(500))
			s.ran(int64(i + 1))
		}
	})
}
