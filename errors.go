package nebis

import "errors"

// The errors that a caller may want to tell apart, with errors.Is. The error of
// the caller's own function is none of them and comes back as it is.
var (
	// ErrKey: the operation is malformed (key, scope or owner); nothing was sent
	// to the database.
	ErrKey = errors.New("nebis: malformed operation")

	// ErrInProgress: the same key is still running elsewhere, and the wait is
	// used up. Calling again later gives the first answer.
	ErrInProgress = errors.New("nebis: operation is in progress")

	// ErrMismatch: the key was used before with another fingerprint, that is,
	// for something else.
	ErrMismatch = errors.New("nebis: key was used for a different request")

	// ErrNotCommitted: the commit failed and nothing of it happened. Call again.
	ErrNotCommitted = errors.New("nebis: not committed, nothing happened")

	// ErrUnknown: it may or may not have happened. Calling Do again with the
	// same key is always safe, and tells once the database can be reached. When
	// the error is ErrTxGone as well, the function that ran first ended its
	// transaction by hand: no later call can tell, a person has to look.
	ErrUnknown = errors.New("nebis: outcome unknown")

	// ErrBusy: the database had no place for this operation in time. It says
	// nothing about the key; nothing happened.
	ErrBusy = errors.New("nebis: database is busy")

	// ErrTxGone: the transaction was lost under the function (a deadlock that it
	// swallowed, DDL, a COMMIT by hand). Never a success; everything that could
	// be rolled back has been.
	ErrTxGone = errors.New("nebis: transaction was lost")

	// ErrLost: the lease went to someone else before the answer was saved.
	ErrLost = errors.New("nebis: lease was lost")

	// ErrState: the key is not in the state that Resolve or Release acts on, or is
	// not there; nothing was changed.
	ErrState = errors.New("nebis: not in the state for that")

	// ErrTooManyRows: the batch has more rows than Options.MaxRows; none of them
	// ran.
	ErrTooManyRows = errors.New("nebis: batch has too many rows")

	// ErrSweeping: another process, or another goroutine, sweeps the table.
	ErrSweeping = errors.New("nebis: another sweep of the table is running")

	// ErrNotKept: done before, but the answer is no longer there (or was too
	// large to keep). It is not run again.
	ErrNotKept = errors.New("nebis: done, answer not kept")
)
