package daily

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/keytable"
)

// within bounds what is tried.
const within = 30 * time.Second

// try does an operation, repeats it, and takes an expired key over, in a scope of
// its own. Its rows are removed; should that fail, they expire within a minute.
func (i *Inspection) try(ctx context.Context, r *Report) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	kept, short := rand.Text(), rand.Text()
	err := i.trying(ctx, kept, short)
	if gone := i.forget(ctx, r.Table, kept, short); err == nil && gone != nil {
		err = fmt.Errorf("remove what was tried: %w", gone)
	}
	if err != nil {
		r.add(nebis.Problem, "try", "operations of the site probably fail in the same way",
			"If this account may only read, use --read-only; else look at the error: rights, a full disk, a writer that does not end",
			"a claim, a replay and a takeover were tried, and failed: %v", err)
		return
	}
	r.looked("a claim, its replay and a takeover, which work")
}

func (i *Inspection) trying(ctx context.Context, kept, short string) error {
	store, err := nebis.New(i.DB, i.Dialect, &nebis.Options{Table: i.Store.Table(), Wait: 5 * time.Second, CommitWait: 5 * time.Second})
	if err != nil {
		return err
	}
	once := func(key string, keep time.Duration) (replayed bool, err error) {
		answer, replayed, err := nebis.Do(ctx, store, nebis.Op{Scope: scope, Owner: nebis.Anyone, Key: key, Keep: keep},
			func(context.Context, *sql.Tx) (string, error) { return key, nil })
		if err == nil && answer != key {
			err = errors.New("the answer is another's")
		}
		return replayed, err
	}
	for _, again := range []bool{false, true} {
		replayed, err := once(kept, time.Minute)
		if err == nil && replayed != again {
			err = fmt.Errorf("replayed %t, wanted %t", replayed, again)
		}
		if err != nil {
			return err
		}
	}
	return takeover(ctx, func() (bool, error) { return once(short, time.Millisecond) })
}

// takeover runs a key whose keep time is the shortest, until it has run again.
func takeover(ctx context.Context, once func() (replayed bool, err error)) error {
	for ran := 0; ran < 2; {
		replayed, err := once()
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return errors.New("an expired key is not taken over")
		case !replayed:
			ran++
		}
		time.Sleep(5 * time.Millisecond) // more than the key is kept
	}
	return nil
}

// forget removes the rows by their keys, which an index finds.
func (i *Inspection) forget(ctx context.Context, table string, keys ...string) error {
	query := `DELETE FROM ` + keytable.Quoted(i.Dialect, table) + ` WHERE idem_key = ? AND scope = ?`
	if i.Dialect == nebis.Postgres {
		query = strings.Replace(strings.Replace(query, "?", "$1", 1), "?", "$2", 1)
	}
	for _, key := range keys {
		if _, err := i.DB.ExecContext(ctx, query, key, scope); err != nil {
			return err
		}
	}
	return nil
}
