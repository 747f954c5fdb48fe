package gauges

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, c dbtest.Config) (*sql.DB, *nebis.Store) {
	t.Helper()
	db := c.Open(t)
	s, err := nebis.New(db, c.Dialect, nil)
	must(t, err)
	_, err = s.Migrate(t.Context(), false)
	must(t, err)
	return db, s
}

// fill doubles the table until it has at least n rows.
func fill(t *testing.T, db *sql.DB, d nebis.Dialect, n int) {
	t.Helper()
	later := map[nebis.Dialect]string{nebis.MySQL: `UTC_TIMESTAMP(6) + INTERVAL 1 DAY`, nebis.Postgres: `clock_timestamp() + interval '1 day'`, nebis.SQLite: `strftime('%Y-%m-%d %H:%M:%f', 'now', '1 day')`}[d]
	_, err := db.ExecContext(t.Context(), `INSERT INTO idempotency (idem_key, scope, owner, status, token, expires_at) VALUES ('0', 'order', 'ann', 'done', 't', `+later+`)`)
	must(t, err)
	for rows := 1; rows < n; rows *= 2 {
		concat := `'r' || (id + ` + fmt.Sprint(rows) + `)`
		if d == nebis.MySQL {
			concat = fmt.Sprintf(`CONCAT('r', id + %d)`, 2*rows) // ids are given out in blocks
		}
		_, err := db.ExecContext(t.Context(), `INSERT INTO idempotency (idem_key, scope, owner, status, token, expires_at)
SELECT `+concat+`, scope, owner, status, token, expires_at FROM idempotency`)
		must(t, err)
	}
}

// An old row that is unfinished is found in the end, and is told until it is settled.
func TestAnOldRowIsFoundInTheEnd(t *testing.T) {
	for _, c := range dbtest.Each() {
		t.Run(c.Name, func(t *testing.T) {
			db, s := open(t, c)
			fill(t, db, c.Dialect, 50000)
			_, err := db.ExecContext(t.Context(), `UPDATE idempotency SET status = 'processing', lease_until = '2020-01-01 00:00:00', created_at = '2020-01-01 00:00:00' WHERE idem_key = '0'`)
			must(t, err)
			r, err := New(db, s, Options{Every: 1, Timeout: time.Minute})
			must(t, err)
			looks := 0
			for r.Read().Rows[nebis.StateUnknown] == 0 {
				if looks++; looks > 200 || r.Read().Err != nil {
					t.Fatalf("not found: %v", r.Read().Err)
				}
			}
			for range 3 {
				if n := r.Read(); n.Rows[nebis.StateUnknown] != 1 || n.Oldest < 24*time.Hour {
					t.Fatalf("it is forgotten: %+v", n)
				}
			}
			_, err = db.ExecContext(t.Context(), `UPDATE idempotency SET status = 'done' WHERE idem_key = '0'`)
			must(t, err)
			n := r.Read()
			if n.Rows[nebis.StateUnknown] != 0 || n.Oldest != 0 {
				t.Errorf("it is told for ever: %+v", n)
			}
			if done := n.Rows[nebis.StateDone]; done < MostRows-1 || done > 1000000 {
				t.Errorf("%d rows are estimated", done)
			}
		})
	}
}

// What has been under way for too long is stuck.
func TestWhatTakesTooLongIsStuck(t *testing.T) {
	db, s := open(t, dbtest.Lookup("sqlite-modernc"))
	patient, err := New(db, s, Options{})
	must(t, err)
	hasty, err := New(db, s, Options{Over: 1})
	must(t, err)
	_, _, err = nebis.Do(t.Context(), s, nebis.Op{Scope: "order", Owner: "ann", Key: "1"}, func(context.Context, *sql.Tx) (int, error) {
		if n := hasty.Now(); n.Stuck != 1 || n.Running != 1 {
			t.Errorf("got %+v", n)
		}
		if n := patient.Now(); n.Stuck != 0 || n.Running != 1 {
			t.Errorf("got %+v", n)
		}
		return 1, nil
	})
	must(t, err)
	if n := hasty.Now(); n != (Now{}) {
		t.Errorf("afterwards: %+v", n)
	}
}

func TestNonsenseIsRefused(t *testing.T) {
	db, s := open(t, dbtest.Lookup("sqlite-modernc"))
	for _, o := range []Options{{Outbox: "a b"}, {Every: -1}, {Timeout: -1}, {Over: -1}} {
		if _, err := New(db, s, o); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
	if _, err := New(nil, s, Options{}); err == nil {
		t.Error("no database is taken")
	}
}
