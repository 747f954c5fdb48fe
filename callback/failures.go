package callback

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/nebis-dev/nebis"
)

// A Failure is a delivery whose function has failed at least once.
type Failure struct {
	Provider, Account, Delivery string
	Order                       string // Event.Order

	Attempts    int       // that failed
	Error       string    // of the last one, at most 1,000 bytes
	First, Last time.Time // of the attempts, by the site's clock
	Done        time.Time // when a later attempt was acknowledged; zero: none was
}

const (
	noteTimeout = 5 * time.Second
	maxError    = 1000
	maxText     = 255
)

// failures is the table beside the keys in which failures are noted, after their
// transaction has been rolled back.
type failures struct {
	d     nebis.Dialect
	table string // quoted
}

func failuresOf(s *nebis.Store) failures {
	quote := `"`
	if s.Dialect() == nebis.MySQL {
		quote = "`"
	}
	parts := strings.Split(s.Table()+"_failures", ".")
	return failures{s.Dialect(), quote + strings.Join(parts, quote+"."+quote) + quote}
}

// bind writes the statement's placeholders as the database wants them.
func (f failures) bind(query string) string {
	if f.d != nebis.Postgres {
		return query
	}
	var b strings.Builder
	for i, part := range strings.Split(query, "?") {
		if i > 0 {
			fmt.Fprintf(&b, "$%d", i)
		}
		b.WriteString(part)
	}
	return b.String()
}

// again is what a second failure of a delivery changes.
func (f failures) again() string {
	if f.d == nebis.MySQL {
		return `ON DUPLICATE KEY UPDATE attempts = attempts + 1, error = VALUES(error), last_at = VALUES(last_at), done_at = NULL`
	}
	return `ON CONFLICT (id) DO UPDATE SET attempts = ` + f.table + `.attempts + 1, error = excluded.error, last_at = excluded.last_at, done_at = NULL`
}

// note records how a delivery ended; a success only where there was a failure.
func note(ctx context.Context, s *nebis.Store, e Event, failed error, keep time.Duration) error {
	f, now := failuresOf(s), time.Now()
	return s.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if failed == nil {
			_, err := tx.ExecContext(ctx, f.bind(`UPDATE `+f.table+` SET done_at = ? WHERE id = ? AND done_at IS NULL`), now.UnixMilli(), identity(e))
			return err
		}
		_, err := tx.ExecContext(ctx, f.bind(`INSERT INTO `+f.table+`
(id, provider, account, delivery, order_number, attempts, error, first_at, last_at) VALUES (?, ?, ?, ?, ?, 1, ?, ?, ?)
`+f.again()), identity(e), e.Provider, cut(e.Account, maxText), cut(e.Delivery, maxText), cut(e.Order, maxText), cut(failed.Error(), maxError), now.UnixMilli(), now.UnixMilli())
		if err == nil {
			_, err = tx.ExecContext(ctx, f.bind(`DELETE FROM `+f.table+` WHERE last_at < ?`), now.Add(-keep).UnixMilli())
		}
		return err
	})
}

func identity(e Event) string {
	sum := sha256.Sum256([]byte(e.Provider + "\x00" + e.Account + "\x00" + e.Delivery))
	return hex.EncodeToString(sum[:])
}

// cut makes any text fit for every database: valid UTF-8 without NUL, at most n bytes.
func cut(s string, n int) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

const columns = `provider, account, delivery, order_number, attempts, error, first_at, last_at, done_at`

// Failures returns at most limit deliveries that have failed, of all providers or of the
// one named: first those that no later attempt has made good, each time the latest first.
func Failures(ctx context.Context, db *sql.DB, s *nebis.Store, provider string, limit int) ([]Failure, error) {
	f := failuresOf(s)
	rows, err := db.QueryContext(ctx, f.bind(`SELECT `+columns+` FROM `+f.table+`
WHERE ? = '' OR provider = ? ORDER BY done_at IS NOT NULL, last_at DESC, id LIMIT ?`), provider, provider, limit)
	if err != nil {
		return nil, fmt.Errorf("callback: read failures: %w", err)
	}
	defer rows.Close()
	var all []Failure
	for rows.Next() {
		var x Failure
		var first, last int64
		var done sql.NullInt64
		if err := rows.Scan(&x.Provider, &x.Account, &x.Delivery, &x.Order, &x.Attempts, &x.Error, &first, &last, &done); err != nil {
			return nil, fmt.Errorf("callback: read failures: %w", err)
		}
		x.First, x.Last = time.UnixMilli(first), time.UnixMilli(last)
		if done.Valid {
			x.Done = time.UnixMilli(done.Int64)
		}
		all = append(all, x)
	}
	return all, rows.Err()
}
