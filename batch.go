package nebis

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"net/url"
)

// A Row is one operation of a [Batch].
type Row[In any] struct {
	// Key names the row within the batch, whatever its place: a line number, an
	// article, a name. Any text but the empty one.
	Key string

	In In

	// Fingerprint is as Op.Fingerprint, for this row. Defaults to Digest(In).
	Fingerprint string
}

// RowStatus says how a row of a batch ended.
type RowStatus string

// The ends of a row.
const (
	RowCreated  RowStatus = "created"  // ran now, and was committed
	RowReplayed RowStatus = "replayed" // done before; this is its result
	RowFailed   RowStatus = "failed"   // Err says why; all that Do says of its errors holds
	RowNotRun   RowStatus = "not-run"  // the context ended before its turn
)

// A RowResult is what became of one row.
type RowResult[Out any] struct {
	Key    string
	Status RowStatus
	Out    Out   // of a row that was created or replayed
	Err    error // of one that was not
}

// maxBatchKey leaves room for the row's part of the key.
const maxBatchKey = maxKey - len(hashedRow) - 2*sha256.Size

// Batch runs fn once for each row, one after the other, each row in a transaction
// of its own, as [Do] does: what fails takes no other row with it. The results have
// the order of rows. Called again with the same op and the same rows, in whatever
// order, it replays what was done and runs only what failed.
//
// Each row is an operation with the key "KEY:row", of op.Key and the row's key; what
// is not fit for a key is escaped or digested in it. op.Key is at most 189
// characters. Op's Wait, Keep and the rest count for each row; fingerprints are the
// rows' own, so op's must be empty.
//
// The error is for the batch as a whole: ErrKey (malformed, or two rows with one
// key) or ErrTooManyRows, and then no row has run. When ctx ends, the row that runs
// is rolled back and the others are not run: their Err is the context's. A panic of
// fn goes through, and what was committed before it is replayed next time.
func Batch[In, Out any](ctx context.Context, s *Store, op Op, rows []Row[In], fn func(ctx context.Context, tx *sql.Tx, in In) (Out, error)) ([]RowResult[Out], error) {
	ops, err := rowOps(s, op, rows)
	if err != nil {
		return nil, err
	}
	results := make([]RowResult[Out], len(rows))
	for i, row := range rows {
		r := &results[i]
		r.Key = row.Key
		if ctx.Err() != nil {
			r.Status, r.Err = RowNotRun, context.Cause(ctx)
			continue
		}
		var replayed bool
		r.Out, replayed, r.Err = Do(ctx, s, ops[i], func(ctx context.Context, tx *sql.Tx) (Out, error) {
			return fn(ctx, tx, row.In)
		})
		r.Status = rowStatus(replayed, r.Err)
	}
	return results, nil
}

func rowStatus(replayed bool, err error) RowStatus {
	switch {
	case err != nil:
		return RowFailed
	case replayed:
		return RowReplayed
	}
	return RowCreated
}

// rowOps returns the operation of each row, or what is wrong with the batch. Its
// errors tell places, not keys.
func rowOps[In any](s *Store, op Op, rows []Row[In]) ([]Op, error) {
	if len(rows) > s.o.MaxRows {
		return nil, fmt.Errorf("%w: %d, at most %d are allowed", ErrTooManyRows, len(rows), s.o.MaxRows)
	}
	if err := checkBatch(op); err != nil {
		return nil, err
	}
	ops, place := make([]Op, len(rows)), map[string]int{}
	for i, row := range rows {
		if row.Key == "" {
			return nil, fmt.Errorf("%w: row %d has no key", ErrKey, i)
		}
		if first, taken := place[row.Key]; taken {
			return nil, fmt.Errorf("%w: rows %d and %d have the same key", ErrKey, first, i)
		}
		place[row.Key] = i
		ops[i] = op
		ops[i].Key = rowKey(op.Key, row.Key)
		if ops[i].Fingerprint = row.Fingerprint; row.Fingerprint == "" {
			ops[i].Fingerprint = Digest(row.In)
		}
		if _, err := ops[i].checked(); err != nil {
			return nil, fmt.Errorf("row %d: %w", i, err)
		}
	}
	return ops, nil
}

func checkBatch(op Op) error {
	if len(op.Key) > maxBatchKey {
		return fmt.Errorf("%w: key of %d bytes: a batch's has at most %d", ErrKey, len(op.Key), maxBatchKey)
	}
	if op.Fingerprint != "" {
		return fmt.Errorf("%w: a batch's fingerprints are its rows' own", ErrKey)
	}
	_, err := op.checked()
	return err
}

// hashedRow marks a row's key that is too long. Escaping leaves neither ':' nor '=',
// so whatever stands behind the last ':' of a key is one row's and no other's.
const hashedRow = ":="

// rowKey is the key of one row: no two pairs of batch and row share one.
func rowKey(batch, row string) string {
	if key := batch + ":" + url.QueryEscape(row); len(key) <= maxKey {
		return key
	}
	sum := sha256.Sum256([]byte(row))
	return batch + hashedRow + hex.EncodeToString(sum[:])
}
