package worlds

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/nebis-dev/nebis"
)

// useLeases sends each statement of leases, of a person's decisions and of the
// clean-up at least once.
func useLeases(t *testing.T, db *sql.DB, s *nebis.Store) {
	t.Helper()
	lease := func(key string, o *nebis.LeaseOptions[int], f func(context.Context) (int, error)) error {
		_, _, err := nebis.Lease(t.Context(), s, leaseOp(key), o, f)
		return err
	}
	must(t, lease("runs", &nebis.LeaseOptions[int]{Length: 2 * time.Second}, func(ctx context.Context) (int, error) {
		return 1, extended(ctx, s, leaseOp("runs"))
	}))
	for _, key := range []string{"verified", "resolved"} {
		if err := lease(key, nil, broken); !errors.Is(err, nebis.ErrUnknown) {
			t.Errorf("error %v", err)
		}
	}
	verify := func(context.Context) (nebis.Verdict, int, error) { return nebis.Happened, 1, nil }
	must(t, lease("verified", &nebis.LeaseOptions[int]{Verify: verify}, one))
	decide(t, db, func(tx *sql.Tx) error {
		_, err := s.Resolve(t.Context(), tx, "lease", "u1", "resolved", nebis.Resolution{Verdict: nebis.Happened, Reason: "seen"})
		return err
	})
	decide(t, db, func(tx *sql.Tx) error {
		_, err := s.Release(t.Context(), tx, "lease", "u1", "resolved", "again")
		return err
	})
	_, err := db.Exec("UPDATE idempotency SET expires_at = '2001-01-01 00:00:00' WHERE scope = 'lease'")
	must(t, err)
	_, _, err = s.Expired(t.Context(), time.Hour, 10)
	must(t, err)
	done, err := s.Sweep(t.Context(), nil)
	if err != nil || done.Rows+done.Answers != 3 || done.Answers != 2 {
		t.Errorf("swept %+v, error %v", done, err)
	}
}

func leaseOp(key string) nebis.Op {
	return nebis.Op{Scope: "lease", Owner: "u1", Key: key, KeepSeen: 48 * time.Hour}
}

func broken(context.Context) (int, error) { return 0, errors.New("the line broke") }

// extended waits until the holder of a lease has extended it.
func extended(ctx context.Context, s *nebis.Store, op nebis.Op) error {
	var first time.Time
	for ctx.Err() == nil {
		e, err := s.Look(ctx, op.Scope, op.Owner, op.Key)
		switch {
		case err != nil:
			return err
		case first.IsZero():
			first = e.LeaseUntil
		case e.LeaseUntil.After(first):
			return nil
		}
		time.Sleep(time.Millisecond)
	}
	return context.Cause(ctx)
}

func decide(t *testing.T, db *sql.DB, f func(*sql.Tx) error) {
	t.Helper()
	tx, err := db.Begin()
	must(t, err)
	defer tx.Rollback()
	must(t, f(tx))
	must(t, tx.Commit())
}

// agreeOnLeases has one of the stores hold a key, leave another in the dark, and
// remember a third, of which the others say the same.
func agreeOnLeases(t *testing.T, stores [3]*nebis.Store, first int, key string) {
	t.Helper()
	all := func(key string, want error) {
		t.Helper()
		for i, s := range stores {
			op := leaseOp(key)
			op.Wait = -1
			if _, _, err := nebis.Lease(t.Context(), s, op, nil, one); !errors.Is(err, want) {
				t.Errorf("%d of %d: %v, want %v", i, first, err, want)
			}
		}
	}
	_, _, err := nebis.Lease(t.Context(), stores[first], leaseOp(key), nil, func(context.Context) (int, error) {
		all(key, nebis.ErrInProgress)
		return 1, nil
	})
	must(t, err)
	_, _, err = nebis.Lease(t.Context(), stores[first], leaseOp(key+"-lost"), nil, broken)
	if !errors.Is(err, nebis.ErrUnknown) {
		t.Errorf("error %v", err)
	}
	all(key+"-lost", nebis.ErrUnknown)
	op := leaseOp(key + "-seen")
	op.Keep = time.Microsecond
	wantRun(t, stores[first], op, true)
	all(key+"-seen", nebis.ErrNotKept)
}
