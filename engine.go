package nebis

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/nebis-dev/nebis/internal/binlog"
)

// engine returns the SQL for the server at hand, and asks MySQL once which of
// its kind it is.
func (s *Store) engine(ctx context.Context, q querier) (*engine, error) {
	if e := s.eng.Load(); e != nil {
		return e, nil
	}
	e, err := s.detect(ctx, q)
	if err != nil {
		return nil, err
	}
	e.first = e.bounded.to(e.insert, 0)
	e.saveSeen, e.saveTxSeen = e.remembering(e.save), e.remembering(e.saveTx)
	s.eng.Store(e)
	return e, nil
}

func (s *Store) detect(ctx context.Context, q querier) (*engine, error) {
	switch s.d {
	case Postgres:
		return postgresEngine(s.n), nil
	case SQLite:
		return s.detectSQLite(ctx, q)
	}
	var version string
	var wait int
	err := q.QueryRowContext(ctx, `SELECT VERSION(), @@innodb_lock_wait_timeout`).Scan(&version, &wait)
	if err != nil {
		return nil, fmt.Errorf("nebis: ask for the server's version: %w", err)
	}
	// At READ UNCOMMITTED it is seen without a lock, and so without waiting, which rows a
	// claim holds: it has written into them. What is locked after that is looked at anew.
	level, err := binlog.Level(ctx, q, sql.LevelReadUncommitted)
	if err != nil {
		return nil, fmt.Errorf("nebis: ask for the binary log: %w", err)
	}
	if strings.Contains(version, "MariaDB") {
		e := mariadbEngine(s.n)
		e.clean.level = level
		return e, nil
	}
	e := mysqlEngine(s.n, s.o.Strict)
	e.clean.level = level
	if !older(version, "8.0.1") && !strings.Contains(version, "TiDB") {
		e.clean.lock += ` SKIP LOCKED`
	}
	e.sessionWait = wait
	return e, nil
}

func (s *Store) detectSQLite(ctx context.Context, q querier) (*engine, error) {
	var mode string
	if err := q.QueryRowContext(ctx, `PRAGMA journal_mode`).Scan(&mode); err != nil {
		return nil, fmt.Errorf("nebis: ask for the journal mode: %w", err)
	}
	e := sqliteEngine(s.n)
	e.blindWrite = !strings.EqualFold(mode, "wal")
	return e, nil
}

// prepared are the statements that every first run or replay sends, prepared
// once per connection. A nil one is sent as text.
type prepared struct{ insert, after, before, save, seen, own *sql.Stmt }

// ready makes sure, before a connection is taken, that the engine is known and
// its statements are prepared.
func (s *Store) ready(ctx context.Context) (*engine, *prepared, error) {
	if p := s.pre.Load(); p != nil {
		return s.eng.Load(), p, nil
	}
	e, err := s.engine(ctx, s.db)
	if err != nil {
		return nil, nil, err
	}
	p, err := s.prepare(ctx, e)
	if err != nil {
		return nil, nil, fmt.Errorf("nebis: prepare: %w", err)
	}
	if !s.pre.CompareAndSwap(nil, p) {
		p.close()
	}
	return e, s.pre.Load(), nil
}

func (s *Store) prepare(ctx context.Context, e *engine) (*prepared, error) {
	p := new(prepared)
	if s.o.Unprepared || s.d == Postgres {
		return p, nil
	}
	want := map[**sql.Stmt]string{&p.insert: e.first, &p.save: e.save, &p.own: e.own}
	if s.d == SQLite { // MySQL cannot prepare savepoints
		want[&p.after], want[&p.before] = e.after, e.before
	}
	if s.o.KeepSeen > 0 {
		want[&p.seen] = e.saveSeen
	}
	for stmt, text := range want {
		var err error
		if *stmt, err = s.db.PrepareContext(ctx, text); err != nil {
			p.close()
			return nil, err
		}
	}
	return p, nil
}

func (p *prepared) close() {
	for _, stmt := range []*sql.Stmt{p.insert, p.after, p.before, p.save, p.seen, p.own} {
		if stmt != nil {
			stmt.Close()
		}
	}
}

// exec runs a statement in tx, prepared or as text.
func exec(ctx context.Context, tx *sql.Tx, stmt *sql.Stmt, text string, args ...any) (sql.Result, error) {
	if stmt == nil {
		return tx.ExecContext(ctx, text, args...)
	}
	return tx.StmtContext(ctx, stmt).ExecContext(ctx, args...)
}
