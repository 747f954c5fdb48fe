package crash

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"

	"github.com/nebis-dev/nebis"
)

// The business: an order and its points. Nothing in these tables keeps an order
// from being there twice, or one without the other.
var tables = []string{
	`CREATE TABLE orders (run VARCHAR(32) NOT NULL PRIMARY KEY, op VARCHAR(64) NOT NULL)`,
	`CREATE TABLE points (run VARCHAR(32) NOT NULL PRIMARY KEY)`,
}

// An order is what the function writes and returns. Run is new each time that
// the function runs.
type order struct{ Op, Run string }

func place(ctx context.Context, tx *sql.Tx, o order) error {
	_, err := tx.ExecContext(ctx, fmt.Sprintf(`INSERT INTO orders (run, op) VALUES ('%s', '%s')`, o.Run, o.Op))
	if err == nil {
		_, err = tx.ExecContext(ctx, fmt.Sprintf(`INSERT INTO points (run) VALUES ('%s')`, o.Run))
	}
	return err
}

// step is a moment in one Do.
type step string

const (
	afterClaim   step = "after the claim"
	afterWrites  step = "after the business writes"
	beforeCommit step = "just before COMMIT"
	afterCommit  step = "just after COMMIT"
	beforeAnswer step = "before the answer is given"
)

var steps = []step{afterClaim, afterWrites, beforeCommit, afterCommit, beforeAnswer}

// committed reports whether the order is there when the program dies at s.
func (s step) committed() bool { return s == afterCommit || s == beforeAnswer }

// An attempt is one call of Do and what it said.
type attempt struct {
	Key      string
	Runs     []string // begun by this call, whatever became of them
	Order    order
	Replayed bool
	Happened verdict
	Lost     bool // ErrLost, and the function's context had ended by it
	Err      string
	cause    error // in this process only
}

// A verdict is what a call of Do says about its own run.
type verdict string

const (
	yes   verdict = "yes"   // there is an order, and this is it
	no    verdict = "no"    // nothing that this call ran is there
	maybe verdict = "maybe" // ErrUnknown, or the caller is dead
)

func verdictOf(err error) verdict {
	switch {
	case err == nil:
		return yes
	case errors.Is(err, nebis.ErrUnknown):
		return maybe
	}
	return no
}

// try calls Do once. at is called inside the function, and may stop it.
func try(ctx context.Context, s *nebis.Store, key string, at func(context.Context, step)) attempt {
	a := attempt{Key: key}
	op := nebis.Op{Scope: "order", Owner: "user-1", Key: key, Fingerprint: nebis.Digest(key)}
	var err error
	a.Order, a.Replayed, err = nebis.Do(ctx, s, op, func(ctx context.Context, tx *sql.Tx) (order, error) {
		o := order{key, rand.Text()}
		a.Runs = append(a.Runs, o.Run)
		at(ctx, afterClaim)
		err := place(ctx, tx, o)
		at(ctx, afterWrites)
		return o, err
	})
	a.Happened, a.cause = verdictOf(err), err
	if err != nil {
		a.Err = err.Error()
	}
	return a
}

func onward(context.Context, step) {}
