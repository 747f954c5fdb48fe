package nebis

import "time"

// Outcome says how an operation ended.
type Outcome string

// The outcomes.
const (
	Ran            Outcome = "ran"             // the function ran and was committed
	TookOver       Outcome = "took-over"       // as Ran, on a key that had expired or was freed
	ReplayedMemory Outcome = "replayed-memory" // answered by the one that it waited for in this process
	ReplayedTable  Outcome = "replayed-table"  // answered from the table
	Released       Outcome = "released"        // the function failed; rolled back, key free
	InProgress     Outcome = "in-progress"     // ErrInProgress
	Mismatch       Outcome = "mismatch"        // ErrMismatch
	NotKept        Outcome = "not-kept"        // ErrNotKept
	Unknown        Outcome = "unknown"         // ErrUnknown
	Lost           Outcome = "lost"            // ErrTxGone, ErrLost
	Failed         Outcome = "failed"          // malformed, busy, not committed, database out of reach
)

// Outcomes lists all outcomes: the good ones first.
func Outcomes() []Outcome {
	return []Outcome{Ran, TookOver, ReplayedMemory, ReplayedTable, Released, InProgress, Mismatch, NotKept, Unknown, Lost, Failed}
}

// An Event tells of one finished operation. The key and the owner are not in it.
type Event struct {
	Scope    string
	Outcome  Outcome
	Waited   time.Duration // from the call to the start of the function, or to the end if it did not run
	Ran      time.Duration // inside the function; 0 if it did not run
	Reclaims int           // claims sent again after a deadlock, a vanished row or a time-out
	Err      error         // what the caller got
}
