package dbtest_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

// proxied are the configurations whose driver speaks to a server.
func proxied() []dbtest.Config {
	var list []dbtest.Config
	for _, c := range dbtest.Configs() {
		if c.Kind != dbtest.SQLite {
			list = append(list, c)
		}
	}
	return list
}

// world is a table reached directly and through a proxy.
type world struct {
	direct, broken *sql.DB
	proxy          *dbtest.Proxy
}

func newWorld(t *testing.T, c dbtest.Config) world {
	t.Helper()
	dsn := c.Fresh(t)
	w := world{direct: c.Pool(t, dsn), proxy: dbtest.NewProxy(t, c.Addr(t))}
	w.broken = c.Pool(t, c.Through(dsn, w.proxy.Addr))
	mustExec(t, w.direct, "CREATE TABLE things (id INTEGER PRIMARY KEY)")
	return w
}

// insert writes a row in a transaction through the proxy and returns what
// Commit says. The context ends after the given time.
func (w world) insert(t *testing.T, within time.Duration) error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	tx, err := w.broken.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, "INSERT INTO things (id) VALUES (1)"); err != nil {
		t.Fatal(err)
	}
	committed := make(chan error, 1)
	go func() { committed <- tx.Commit() }()
	select {
	case err := <-committed:
		return err
	case <-time.After(within):
		return context.DeadlineExceeded
	}
}

func (w world) rows(t *testing.T) string {
	t.Helper()
	return text(t, w.direct, "SELECT count(*) FROM things")
}

func TestProxy(t *testing.T) {
	cases := []struct {
		name string
		run  func(*testing.T, world)
	}{
		{"forwards", proxyForwards},
		{"cuts before the commit", proxyCutsBefore},
		{"cuts after the commit", proxyCutsAfter},
		{"delivers late", proxyHolds},
		{"answers late", proxyHoldsAnswers},
		{"swallows in silence", proxySwallows},
	}
	for _, c := range proxied() {
		t.Run(c.Name, func(t *testing.T) {
			for _, tc := range cases {
				t.Run(tc.name, func(t *testing.T) { tc.run(t, newWorld(t, c)) })
			}
		})
	}
}

func proxyForwards(t *testing.T, w world) {
	if err := w.insert(t, time.Minute); err != nil || w.rows(t) != "1" {
		t.Fatalf("insert = %v, %s rows", err, w.rows(t))
	}
	conn, err := w.broken.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	before := w.proxy.RoundTrips()
	for range 3 {
		if err := conn.PingContext(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.proxy.RoundTrips() - before; got != 3 {
		t.Errorf("three pings took %d round trips", got)
	}
}

func proxyCutsBefore(t *testing.T, w world) {
	w.proxy.Set(dbtest.CutBefore, dbtest.Commit)
	if err := w.insert(t, time.Minute); err == nil {
		t.Error("Commit reported success")
	}
	if got := w.rows(t); got != "0" {
		t.Errorf("%s rows, want none", got)
	}
	if err := w.insert(t, time.Minute); err != nil {
		t.Errorf("the trap sprang twice: %v", err)
	}
}

func proxyCutsAfter(t *testing.T, w world) {
	w.proxy.Set(dbtest.CutAfter, dbtest.Commit)
	if err := w.insert(t, time.Minute); err == nil {
		t.Error("Commit reported success")
	}
	if got := w.rows(t); got != "1" {
		t.Errorf("%s rows, want 1", got)
	}
}

func proxyHolds(t *testing.T, w world) {
	trap := w.proxy.Set(dbtest.Hold, dbtest.Commit)
	if err := w.insert(t, 100*time.Millisecond); err == nil {
		t.Error("Commit did not wait")
	}
	<-trap.Sprung()
	if got := w.rows(t); got != "0" {
		t.Errorf("%s rows before the release", got)
	}
	trap.Release()
	<-trap.Answered()
	if got := w.rows(t); got != "1" {
		t.Errorf("%s rows after the release, want 1", got)
	}
}

func proxyHoldsAnswers(t *testing.T, w world) {
	trap := w.proxy.Set(dbtest.HoldAnswer, dbtest.Commit)
	if err := w.insert(t, 100*time.Millisecond); err == nil {
		t.Error("Commit did not wait")
	}
	<-trap.Answered()
	if got := w.rows(t); got != "1" {
		t.Errorf("%s rows before the release, want 1", got)
	}
	trap.Release()
}

func proxySwallows(t *testing.T, w world) {
	trap := w.proxy.Set(dbtest.Swallow, dbtest.Commit)
	if err := w.insert(t, 100*time.Millisecond); err != context.DeadlineExceeded {
		t.Errorf("Commit returned %v", err)
	}
	<-trap.Sprung()
	if got := w.rows(t); got != "0" {
		t.Errorf("%s rows, want none", got)
	}
	trap.Release()
	// The server rolls back when it notices, and lets the row go.
	if _, err := w.direct.Exec("INSERT INTO things (id) VALUES (1)"); err != nil {
		t.Errorf("the row is still held: %v", err)
	}
}

func TestCommitMatchesTheStatementOnly(t *testing.T) {
	for packet, want := range map[string]bool{
		"Q\x00\x00\x00\x0bcommit\x00":                          true,
		"\x07\x00\x00\x00\x03COMMIT":                           true,
		"\x00\x00\x00\x03SET TRANSACTION READ COMMITTED":       false,
		"Q\x00\x00\x00\x30begin isolation level committed\x00": false,
	} {
		if got := dbtest.Commit([]byte(packet)); got != want {
			t.Errorf("Commit(%q) = %v", packet, got)
		}
	}
}
