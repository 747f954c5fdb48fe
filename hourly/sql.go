package hourly

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nebis-dev/nebis"
)

// An hour is a text such as 2026-12-02 20, in UTC: it sorts, it can be read, and no
// driver or session makes another time of it.
type statements struct {
	d                                  nebis.Dialect
	table, quoted                      string
	schema, add, again, tidy, read, is string
}

func statementsOf(d nebis.Dialect, keys string) (s statements, err error) {
	if keys == "" {
		keys = "idempotency"
	}
	if _, err := d.Schema(keys); err != nil { // it knows which names and dialects there are
		return s, err
	}
	quote := map[nebis.Dialect]string{nebis.MySQL: "`"}[d]
	quote = cmp.Or(quote, `"`)
	s = statements{d: d, table: keys + "_hourly"}
	t := quote + strings.ReplaceAll(s.table, ".", quote+"."+quote) + quote
	s.quoted = t
	var text, tail, now, before string
	switch d {
	case nebis.MySQL:
		text, tail = "CHARACTER SET ascii COLLATE ascii_bin NOT NULL", " ENGINE=InnoDB"
		now, before = `DATE_FORMAT(UTC_TIMESTAMP(), '%Y-%m-%d %H')`, `DATE_FORMAT(UTC_TIMESTAMP() - INTERVAL ? HOUR, '%Y-%m-%d %H')`
		s.again = ` ON DUPLICATE KEY UPDATE times = times + VALUES(times)`
	case nebis.Postgres:
		text = `COLLATE "C" NOT NULL`
		now, before = `to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24')`, `to_char((clock_timestamp() - $1 * interval '1 hour') AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24')`
	default:
		text = "NOT NULL"
		now, before = `strftime('%Y-%m-%d %H', 'now')`, `strftime('%Y-%m-%d %H', 'now', printf('%+d hours', -?))`
	}
	if s.again == "" {
		s.again = ` ON CONFLICT (at_hour, scope, outcome) DO UPDATE SET times = ` + t + `.times + excluded.times`
	}
	s.schema = fmt.Sprintf(`CREATE TABLE IF NOT EXISTS %s (
  at_hour VARCHAR(13) %s,
  scope VARCHAR(64) %s,
  outcome VARCHAR(32) %s,
  times BIGINT NOT NULL,
  PRIMARY KEY (at_hour, scope, outcome)
)%s`, t, text, text, text, tail)
	s.add, s.is = `INSERT INTO `+t+` (at_hour, scope, outcome, times) VALUES `, now
	s.tidy = `DELETE FROM ` + t + ` WHERE at_hour < ` + before
	s.read = `SELECT at_hour, scope, outcome, times, ` + now + ` FROM ` + t + ` WHERE at_hour >= ` + before + ` ORDER BY at_hour, scope, outcome`
	return s, nil
}

// Schema returns the statement that makes the table of counts beside a key table,
// with a semicolon, for people who keep their own migrations. An empty name means
// "idempotency".
func Schema(d nebis.Dialect, keys string) (string, error) {
	s, err := statementsOf(d, keys)
	if err != nil {
		return "", err
	}
	return s.schema + ";\n", nil
}

// Migrate makes the table where it is missing. It may run at every start, and in
// many processes at once.
func (c *Counter) Migrate(ctx context.Context) error {
	if rows, err := c.db.QueryContext(ctx, c.sql.read, 0); err == nil {
		defer rows.Close()
		rows.Next()
		return rows.Err() // an account that may not make tables gets here, too
	}
	tx, err := c.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("hourly: migrate: %w", err)
	}
	defer tx.Rollback()
	if c.sql.d == nebis.Postgres { // IF NOT EXISTS fails where two look at the same time
		if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock(hashtext('nebis hourly migrate'))`); err != nil {
			return fmt.Errorf("hourly: migrate: %w", err)
		}
	}
	if _, err := tx.ExecContext(ctx, c.sql.schema); err != nil {
		return fmt.Errorf("hourly: make the table %s: %w", c.sql.table, err)
	}
	return tx.Commit()
}

// atOnce is how many counts one statement writes.
const atOnce = 100

// write adds the counts in one order, so that no two processes wait for each other
// crosswise, and all of them or none.
func (c *Counter) write(ctx context.Context, counts map[kind]int64) error {
	kinds := slices.SortedFunc(maps.Keys(counts), func(a, b kind) int {
		return cmp.Or(cmp.Compare(a.scope, b.scope), cmp.Compare(a.outcome, b.outcome))
	})
	tx, err := c.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	for some := range slices.Chunk(kinds, atOnce) {
		query, args := c.sql.adding(some, counts)
		if _, err := tx.ExecContext(ctx, query, args...); err != nil {
			return err
		}
	}
	return tx.Commit()
}

func (s statements) adding(some []kind, counts map[kind]int64) (query string, args []any) {
	var b strings.Builder
	b.WriteString(s.add)
	for i, k := range some {
		row := `?, ?, ?`
		if s.d == nebis.Postgres {
			row = fmt.Sprintf(`$%d, $%d, $%d`, 3*i+1, 3*i+2, 3*i+3)
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(`(` + s.is + `, ` + row + `)`)
		args = append(args, k.scope, string(k.outcome), counts[k])
	}
	return b.String() + s.again, args
}

// Set puts a number of the caller's own beside the counts, such as how many rows
// there are: for this hour, in place of the one that is there.
func (c *Counter) Set(ctx context.Context, scope string, outcome nebis.Outcome, n int64) error {
	k := kind{scope, outcome}
	query, args := c.sql.adding([]kind{k}, map[kind]int64{k: n})
	set := strings.NewReplacer("times = times + ", "times = ", c.sql.quoted+".times + ", "").Replace(c.sql.again)
	if _, err := c.db.ExecContext(ctx, strings.TrimSuffix(query, c.sql.again)+set, args...); err != nil {
		return fmt.Errorf("hourly: %w", err)
	}
	return nil
}

// A Count is one line of the table.
type Count struct {
	Age     int // in hours: 0 is the hour that runs, by the database's clock
	Scope   string
	Outcome nebis.Outcome
	Times   int64
}

// Read returns the counts of so many hours back, the oldest first. The error is
// that there is no table, or that it cannot be read.
func Read(ctx context.Context, db *sql.DB, d nebis.Dialect, keys string, hours int) ([]Count, error) {
	s, err := statementsOf(d, keys)
	if err != nil {
		return nil, err
	}
	rows, err := db.QueryContext(ctx, s.read, int64(hours))
	if err != nil {
		return nil, fmt.Errorf("hourly: read %s: %w", s.table, err)
	}
	defer rows.Close()
	var all []Count
	for rows.Next() {
		var c Count
		var at, now string
		if err := rows.Scan(&at, &c.Scope, &c.Outcome, &c.Times, &now); err != nil {
			return nil, fmt.Errorf("hourly: read %s: %w", s.table, err)
		}
		if c.Age, err = between(at, now); err != nil {
			return nil, fmt.Errorf("hourly: read %s: %w", s.table, err)
		}
		all = append(all, c)
	}
	return all, rows.Err()
}
