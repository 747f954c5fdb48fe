package nebis

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
)

// An adopter makes or takes over the table on one kind of database.
type adopter interface {
	quoted(n name) string

	// look finds out what is there; rows looks into the rows as well.
	look(ctx context.Context, q link, n name) (*shape, error)
	rows(ctx context.Context, q link, n name, s *shape) error

	// plan returns the statements that make a table of this shape the Store's.
	plan(n name, s *shape) ([]string, error)

	// alone runs do while no other Migrate runs, in a transaction where the
	// database has DDL in transactions.
	alone(ctx context.Context, conn *sql.Conn, n name, do func(link) error) error

	// ask asks for what Check wants to know of the server and the session.
	ask(ctx context.Context, q link) (*server, error)

	// latest is an expression for the last expiry of some rows, as text in UTC.
	latest() string
}

func (d Dialect) adopter() adopter {
	switch d {
	case MySQL:
		return mysqlAdopter{}
	case Postgres:
		return postgresAdopter{}
	}
	return sqliteAdopter{}
}

// Migrate makes the Store's table where it is missing, or takes over a
// hand-made one that is there, without losing a row or stopping the code that
// uses it. It returns the statements that it ran; with dryRun it runs none and
// returns those that it would run, each fit to be run by hand, in this order (on
// PostgreSQL and SQLite: in one transaction).
//
// It does only what is missing, so it may run at every start, and in many
// processes at once: they wait for each other as long as ctx lasts. On
// PostgreSQL and SQLite the table changes as a whole or not at all; on MySQL by
// one statement. After an error, running it again goes on from there.
//
// The rows of the old code keep their unique index, which a later Migrate drops
// once the last of them is gone; until then two owners cannot have the same key.
// Rows without an expiry get one: now and the store's Keep. A change waits at
// most 10 seconds for transactions that use the table, as everybody waits behind
// it, and then fails.
//
// It fails, and changes nothing, where only a person can decide: a column whose
// name is taken, a column that must be filled with what the Store does not know,
// doubles that no index forbade. Check lists the same things.
func (s *Store) Migrate(ctx context.Context, dryRun bool) (statements []string, err error) {
	var stamp []string
	err = s.onConn(ctx, func(conn *sql.Conn) error {
		statements, stamp, err = s.planned(ctx, conn)
		if err != nil || dryRun || len(statements) == 0 {
			return err
		}
		// Another process may be at it: look again when it is this one's turn.
		statements, stamp, err = s.migrate(ctx, conn)
		return err
	})
	if err == nil && stamp != nil && !dryRun {
		err = s.stampAll(ctx, stamp[0])
	}
	statements = append(statements, stamp...)
	if err != nil {
		return statements, fmt.Errorf("nebis: migrate: %w", err)
	}
	return statements, nil
}

func (s *Store) onConn(ctx context.Context, do func(*sql.Conn) error) error {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	return do(conn)
}

// planned returns what is to be done, and if rows have to be stamped, what
// stamps them.
func (s *Store) planned(ctx context.Context, q link) (statements, stamp []string, err error) {
	a := s.d.adopter()
	sh, err := a.look(ctx, q, s.n)
	if err != nil {
		return nil, nil, fmt.Errorf("look at the table: %w", err)
	}
	if err := a.rows(ctx, q, s.n, sh); err != nil {
		return nil, nil, fmt.Errorf("look at the rows: %w", err)
	}
	if err := sh.refusal(); err != nil {
		return nil, nil, fmt.Errorf("table %s: %w", a.quoted(s.n), err)
	}
	if statements, err = a.plan(s.n, sh); err != nil {
		return nil, nil, fmt.Errorf("table %s: nothing was changed: %w", a.quoted(s.n), err)
	}
	if sh.rows.unstamped {
		stamp = []string{s.stampStatement()}
	}
	return statements, stamp, nil
}

// migrate changes the table.
func (s *Store) migrate(ctx context.Context, conn *sql.Conn) (ran, stamp []string, err error) {
	if s.d == SQLite {
		if err := s.takeWriter(ctx, s.o.CommitWait); err != nil {
			return nil, nil, err
		}
		defer s.freeWriter()
	}
	err = s.d.adopter().alone(ctx, conn, s.n, func(q link) error {
		plan, stamps, err := s.planned(ctx, q)
		if err != nil {
			return err
		}
		for _, statement := range plan {
			if _, err := q.ExecContext(ctx, statement); err != nil {
				return s.d.advise(statement, err)
			}
		}
		ran, stamp = plan, stamps
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	return ran, stamp, nil
}

// advise says what a person can do about a statement that failed.
func (d Dialect) advise(statement string, err error) error {
	first, _, _ := strings.Cut(statement, "\n")
	advice := "nothing was changed"
	if d == MySQL {
		advice = "no row was lost, and what ran before it stays"
	}
	return fmt.Errorf("%s …: %w (%s; a lock wait means that a long transaction uses the table: end it; put right what else the error names, and run Migrate again)", first, err, advice)
}

const stampBatch = 1000

// stampStatement returns the statement that gives rows of old code an expiry,
// as it can be run by hand.
func (s *Store) stampStatement() string {
	stamp := map[Dialect]func() string{
		MySQL:    func() string { return mysqlEngine(s.n, false).clean.stamp },
		Postgres: func() string { return postgresEngine(s.n).clean.stamp },
		SQLite:   func() string { return sqliteEngine(s.n).clean.stamp },
	}[s.d]()
	return "-- until it changes no more rows:\n" + literal(stamp, s.o.Keep.Microseconds(), stampBatch)
}

// literal puts numbers in for the arguments of a statement.
func literal(statement string, args ...int64) string {
	for i, arg := range args {
		value := strconv.FormatInt(arg, 10)
		statement = strings.Replace(statement, "?", value, 1)
		statement = strings.ReplaceAll(statement, "$"+strconv.Itoa(i+1), value)
	}
	return statement
}

// stampAll stamps in short transactions, because claims wait for each.
func (s *Store) stampAll(ctx context.Context, statement string) error {
	for failed := 0; ; {
		n, err := s.stampSome(ctx, statement)
		switch {
		case err != nil && (failed == 10 || ctx.Err() != nil):
			return fmt.Errorf("give the old rows an expiry: %w (the table itself is ready; run Migrate again, or Purge, which does it as well)", err)
		case err != nil: // a deadlock with a claim
			failed++
			pause(ctx, 0)
		case n < stampBatch:
			return nil
		default:
			failed = 0
		}
	}
}

func (s *Store) stampSome(ctx context.Context, statement string) (n int64, err error) {
	err = s.short(ctx, func(tx *sql.Tx, _ *engine) (err error) {
		n, err = affected(tx.ExecContext(ctx, statement))
		return err
	})
	return n, err
}
