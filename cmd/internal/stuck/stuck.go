// Package stuck finds transactions that have held a key for too long. A claim is a
// row that its transaction has not committed, so no other session sees it; what can
// be seen are the transaction and its locks, and that differs from database to
// database.
package stuck

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/keytable"
)

// A Transaction is one that is open and holds a claim, or may hold one.
type Transaction struct {
	Connection int64         `json:"connection,omitempty"` // as the database numbers it; 0: it cannot be told
	Age        time.Duration `json:"-"`
	Seconds    int64         `json:"seconds"`
	User       string        `json:"user,omitempty"`
	Host       string        `json:"host,omitempty"`
	Program    string        `json:"program,omitempty"`
	State      string        `json:"state,omitempty"` // what it is doing
	Query      string        `json:"query,omitempty"` // the last statement, without its values
	Waiting    int           `json:"waiting"`         // sessions that wait for it, where that can be told
	Scope      string        `json:"scope,omitempty"` // of the key, where that can be told
	Row        int64         `json:"row,omitempty"`
}

// A Report is what could be found.
type Report struct {
	Held   []Transaction
	Limits []string // what could not be told, and how it could
}

// Find returns the transactions that have been open for longer than over and hold
// a claim. It looks for at most budget where it has to walk through rows, and only
// reads; on SQLite it asks for the writer's place, and gives it back.
func Find(ctx context.Context, db *sql.DB, d nebis.Dialect, t *keytable.Table, over, budget time.Duration) (*Report, error) {
	var r *Report
	var err error
	switch d {
	case nebis.MySQL:
		r, err = mysql(ctx, db, t, over, budget)
	case nebis.Postgres:
		r, err = postgres(ctx, db, t, over)
	default:
		r, err = sqlite(ctx, db, over)
	}
	if err != nil {
		return nil, fmt.Errorf("look for open transactions: %w", err)
	}
	for i := range r.Held {
		r.Held[i].Seconds = int64(r.Held[i].Age.Seconds())
		r.Held[i].Query = Shape(d, r.Held[i].Query)
	}
	return r, nil
}

// String says it for a person.
func (t Transaction) String() string {
	var b strings.Builder
	if t.Connection != 0 {
		fmt.Fprintf(&b, "connection %d", t.Connection)
	} else {
		b.WriteString("a connection")
	}
	if t.User != "" {
		fmt.Fprintf(&b, " of %s", t.User)
	}
	if t.Host != "" {
		fmt.Fprintf(&b, " from %s", t.Host)
	}
	if t.Program != "" {
		fmt.Fprintf(&b, " (%s)", t.Program)
	}
	fmt.Fprintf(&b, ", for %v", t.Age.Round(time.Second))
	if t.State != "" {
		fmt.Fprintf(&b, ", %s", t.State)
	}
	if t.Scope != "" {
		fmt.Fprintf(&b, ", holds a key of scope %s", t.Scope)
	}
	if t.Waiting > 0 {
		fmt.Fprintf(&b, ", %d waiting for it", t.Waiting)
	}
	if t.Query != "" {
		fmt.Fprintf(&b, ": %s", t.Query)
	}
	return b.String()
}
