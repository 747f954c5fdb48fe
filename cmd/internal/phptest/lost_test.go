package phptest

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

func (s *site) mysql() bool { return s.kind == dbtest.MariaDB || s.kind == dbtest.MySQL }

// testByHand: MySQL commits before DDL, the others take it into the transaction.
func testByHand(t *testing.T, s *site) {
	hows := []string{"commit"}
	if s.mysql() {
		hows = append(hows, "ddl", "ddl-throw")
	}
	var left []string
	for _, how := range hows {
		s.is(s.send(how, "tea", "how", how), http.StatusInternalServerError, "ended its transaction itself")
		left = append(left, "tea")
		s.is(s.send(how, "tea"), http.StatusInternalServerError, "nobody knows")
		if _, _, err := s.do("ann", how, "tea"); !errors.Is(err, nebis.ErrUnknown) {
			t.Errorf("%s: Go says %v", how, err)
		}
		s.exec(`DROP TABLE IF EXISTS made_by_hand`)
	}
	s.want(left...)
	if !s.mysql() {
		s.is(s.send("k", "tea", "how", "ddl-throw"), http.StatusTeapot, "out of tea")
		s.want(left...)
	}
}

func testDeadlock(t *testing.T, s *site) {
	if !s.mysql() {
		t.Skip("only MySQL and MariaDB go on after a deadlock")
	}
	s.exec(`CREATE TABLE stock (id INTEGER PRIMARY KEY, n INTEGER NOT NULL) ENGINE=InnoDB`)
	s.exec(`INSERT INTO stock VALUES (1, 9), (2, 9)`)
	tx, err := s.db.BeginTx(t.Context(), nil)
	s.must(err)
	defer tx.Rollback()
	var id int
	s.must(tx.QueryRowContext(t.Context(), `SELECT CONNECTION_ID()`).Scan(&id))
	// The one who has written less is the victim.
	_, err = tx.ExecContext(t.Context(), `INSERT INTO stock VALUES (11, 1), (12, 1), (13, 1), (14, 1), (15, 1), (16, 1), (17, 1), (18, 1), (19, 1)`)
	s.must(err)
	_, err = tx.ExecContext(t.Context(), `UPDATE stock SET n = n - 1 WHERE id = 2`)
	s.must(err)

	reached := s.hold()
	victim := make(chan answer)
	go func() { victim <- s.send("k", "tea", "how", "deadlock") }()
	reached() // it has row 1
	waits := make(chan error)
	go func() {
		_, err := tx.ExecContext(t.Context(), `UPDATE stock SET n = n - 1 WHERE id = 1`)
		waits <- err
	}()
	s.waiting(id)
	s.gate.Release()
	s.is(<-victim, http.StatusServiceUnavailable, "lost its transaction; nothing of it stays")
	s.must(<-waits)
	s.want()
	s.must(tx.Rollback())
	s.id(s.send("k", "tea"))
	s.want("tea")
}

// waiting waits until a connection waits for a lock.
func (s *site) waiting(id int) {
	s.t.Helper()
	for n := 0; n == 0; time.Sleep(200 * time.Millisecond) { // the server does not renew that table while it is asked more often than ten times a second
		s.must(s.db.QueryRowContext(s.t.Context(),
			`SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT' AND trx_mysql_thread_id = ?`, id).Scan(&n))
	}
}

func testCommitLost(t *testing.T, s *site) {
	s.needLine()
	s.line.Set(dbtest.CutAfter, dbtest.Commit)
	s.same([]int{s.id(s.send("k", "tea")), s.id(s.send("k", "tea"))})
	s.want("tea")
}

func testCommitCut(t *testing.T, s *site) {
	s.needLine()
	s.line.Set(dbtest.CutBefore, dbtest.Commit)
	s.is(s.send("k", "tea"), http.StatusServiceUnavailable, "nothing has happened")
	s.want()
	s.id(s.send("k", "tea"))
	s.want("tea")
}

func testCommitUnknown(t *testing.T, s *site) {
	s.needLine()
	commit := s.line.Set(dbtest.CutAfter, dbtest.Commit)
	s.line.Set(dbtest.CutBefore, func([]byte) bool { return closed(commit.Sprung()) }) // whoever speaks next: the one that asks
	s.is(s.send("k", "tea"), http.StatusServiceUnavailable, "it may have happened")
	s.id(s.send("k", "tea"))
	s.want("tea")
}

func (s *site) needLine() {
	s.t.Helper()
	if s.line == nil {
		s.t.Skip("a file has no line that could be cut")
	}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
