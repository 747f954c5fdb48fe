package nebis

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
)

// Level says how bad a Finding is.
type Level string

// The levels.
const (
	Problem Level = "problem" // breaks the promise, or every operation fails
	Warning Level = "warning" // can hurt one day
	Note    Level = "note"    // worth knowing
)

// A Finding is one thing that Check found. The codes stay the same from version
// to version; the texts do not.
//
// Problems: server-old, read-only, read-uncommitted, autocommit-off, journal-off; no-table,
// not-a-table, engine, column-missing, column-type, column-required, key-folds,
// key-narrow, status-words, response-small, response-alters, unique-index,
// unique-other, doubles.
//
// Warnings: half-open, lock-wait, not-strict, packet, clock, busy-timeout,
// synchronous-off, journal-memory; response-json, time-type, expires-index,
// id-index, old-loose.
//
// Notes: journal-mode, not-read; old-rows, old-index.
type Finding struct {
	Level Level
	Code  string
	What  string // what is so
	Do    string // what to do about it
}

// String returns the finding in one line.
func (f Finding) String() string {
	return fmt.Sprintf("%s %s: %s. %s.", f.Level, f.Code, f.What, f.Do)
}

type findings []Finding

func (fs *findings) add(l Level, code, do, what string, args ...any) {
	*fs = append(*fs, Finding{l, code, fmt.Sprintf(what, args...), do})
}

const runMigrate = "Run Migrate (a dry run shows what it would do)"

// Check looks for what would break the promise or hurt one day, problems first:
// in the table, in the server's settings and in the session's, as one of the
// pool's connections has them. None is the best answer. It never writes, needs
// no more rights than the Store does, and works on a table that Migrate has not
// seen yet. The error is that the database cannot be asked at all.
func (s *Store) Check(ctx context.Context) ([]Finding, error) {
	var fs findings
	err := s.onConn(ctx, func(conn *sql.Conn) error { return s.check(ctx, conn, &fs) })
	if err != nil {
		return nil, fmt.Errorf("nebis: check: %w", err)
	}
	order := []Level{Problem, Warning, Note}
	slices.SortStableFunc(fs, func(a, b Finding) int {
		return cmp.Compare(slices.Index(order, a.Level), slices.Index(order, b.Level))
	})
	return fs, nil
}

func (s *Store) check(ctx context.Context, conn *sql.Conn, fs *findings) error {
	a := s.d.adopter()
	srv, err := a.ask(ctx, conn)
	if err != nil {
		return err
	}
	if srv.tooOld(fs) {
		return nil // it may not know the questions either
	}
	srv.judge(fs, s.o)
	sh, err := a.look(ctx, conn, s.n)
	if err != nil {
		return err
	}
	if !sh.exists || sh.notTable != "" {
		sh.missing(fs, a.quoted(s.n))
		return nil
	}
	sh.judge(fs, s.o)
	if err := a.rows(ctx, conn, s.n, sh); err != nil {
		fs.add(Note, "not-read", "Check with an account that may SELECT from the table", "the rows could not be looked at (%v)", err)
		return nil
	}
	if sh.rows.twice {
		fs.add(Problem, "doubles", "Keep one row of each", "%s", sh.doubles())
	}
	s.checkOld(ctx, conn, sh, fs)
	return nil
}

func (s *shape) missing(fs *findings, t string) {
	if s.notTable != "" {
		fs.add(Problem, "not-a-table", "Give the Store a table of its own (Options.Table)", "%s is a %s", t, s.notTable)
		return
	}
	fs.add(Problem, "no-table", runMigrate, "there is no table %s (or this account may not see it)", t)
}

// judge says what is wrong with a table.
func (s *shape) judge(fs *findings, o Options) {
	for _, f := range s.flaws() {
		do := runMigrate
		if f.byHand != "" {
			do = capital(f.byHand)
		}
		fs.add(Problem, f.code, do, "%s", f.what)
	}
	if s.unsafe {
		fs.add(Problem, "engine", runMigrate, "the table is kept by %s, which cannot roll back or forgets its rows in a crash", cmp.Or(s.engine, "an engine"))
	}
	if c := s.column("response"); c != nil && c.length > 0 && c.length >= mediumText && c.length < int64(o.MaxResponse) {
		fs.add(Problem, "response-small", "Lower Options.MaxResponse, or make the column LONGTEXT", "column response holds %d bytes, less than Options.MaxResponse (%d)", c.length, o.MaxResponse)
	}
	if c := s.column("response"); c != nil && strings.HasPrefix(c.typ, "json") {
		fs.add(Warning, "response-json", "Make it TEXT when the old code no longer reads it as JSON", "column response is %s: an answer is kept by its meaning, and one with \\u0000 in it fails", c.typ)
	}
	for _, name := range []string{"created_at", "updated_at"} {
		if c := s.column(name); c != nil && strings.HasPrefix(c.typ, "timestamp") && !strings.Contains(c.typ, "zone") {
			fs.add(Warning, "time-type", "Make it DATETIME(6), or put time_zone='+00:00' into the DSN",
				"column %s is TIMESTAMP, which the session's zone reads: in the hour that summer time skips, the Store's times do not exist and inserts fail", name)
		}
	}
	s.judgeIndexes(fs)
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func (s *shape) judgeIndexes(fs *findings) {
	if s.guard() == nil {
		fs.add(Problem, "unique-index", runMigrate, "no valid unique index is on (idem_key, scope, owner)%s: two requests could both win", s.nearly())
	}
	if !s.indexed("expires_at") {
		fs.add(Warning, "expires-index", runMigrate, "no index is on expires_at: each Purge reads the whole table")
	}
	if !s.numbered {
		fs.add(Warning, "id-index", runMigrate, "no index is on id: each operation reads the whole table")
	}
	for _, x := range s.indexes {
		switch {
		case !x.unique || x.invalid:
		case x.deferred:
			fs.add(Problem, "unique-other", capital(makeImmediate), "%s", x.late())
		case x.within("idem_key", "scope") && x.primary:
			fs.add(Problem, "unique-other", "Make id the primary key", "the primary key is on (%s): owners cannot have the same key", strings.Join(x.columns, ", "))
		case x.within("scope", "owner", "status", "fingerprint", "attempts") && !x.within("idem_key", "scope"):
			fs.add(Problem, "unique-other", "Drop it", "the unique index %s on (%s) lets different operations collide", x.name, strings.Join(x.columns, ", "))
		}
	}
}

// nearly names an index that looks like the right one.
func (s *shape) nearly() string {
	for _, x := range s.indexes {
		if slices.Contains(x.columns, "owner") && slices.Contains(x.columns, "idem_key") {
			return fmt.Sprintf(" (%s on (%s): unique %t, partial %t, invalid %t)", x.name, strings.Join(x.columns, ", "), x.unique, x.partial, x.invalid)
		}
	}
	return ""
}

// checkOld tells of what is left of the old code.
func (s *Store) checkOld(ctx context.Context, conn *sql.Conn, sh *shape, fs *findings) {
	old := sh.old()
	if !sh.adopted() || len(old) == 0 && !sh.rows.unstamped {
		return
	}
	if !sh.rows.old && len(old) > 0 {
		fs.add(Note, "old-index", "Run Migrate, which drops it", "the old unique index %s is still there, and no row needs it: two owners cannot have the same key", old[0].name)
		return
	}
	var count int
	var until sql.NullString
	a := s.d.adopter()
	err := conn.QueryRowContext(ctx, `SELECT COUNT(*), `+a.latest()+` FROM `+a.quoted(s.n)+` WHERE token IS NULL`).Scan(&count, &until)
	if err != nil {
		fs.add(Note, "not-read", "Check with an account that may SELECT from the table", "the rows of the old code could not be counted (%v)", err)
		return
	}
	if len(old) == 0 {
		fs.add(Warning, "old-loose", "Stop the old code, or let it use a table of its own", "%d rows are of code that does not use the Store, and the old unique index is gone: such code and the Store do not see each other's keys", count)
		return
	}
	fs.add(Note, "old-rows", "Nothing: Purge takes them, then Migrate drops the index", "%d rows are of code that did not use the Store; %s. Until then the old unique index %s stays, and two owners cannot have the same key", count, lastGoes(until, sh.rows.unstamped), old[0].name)
}

func lastGoes(until sql.NullString, unstamped bool) string {
	if unstamped || !until.Valid {
		return "some have no expiry yet (Migrate and Purge give them one)"
	}
	return "the last expires at " + until.String + " UTC"
}
