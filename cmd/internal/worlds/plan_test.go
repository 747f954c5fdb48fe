package worlds

import (
	"time"

	"github.com/nebis-dev/nebis"
)

// A plan is what the seed decides of a world.
type plan struct {
	seed   uint64
	p      product
	stores []storePlan
	keys   []keyPlan
	calls  []callPlan
	beside []besidePlan
}

// A store stands for a process: it has a pool, and a memory, of its own.
type storePlan struct {
	variant int // of the product
	conns   int
	o       nebis.Options
}

type keyPlan struct {
	op    nebis.Op // scope, owner, key and how long it is kept
	large bool     // its answers are too large to keep
	old   bool     // done before, and expired when the world begins
}

// fleeting keys expire while the world goes on; of those that are remembered only the
// answer does.
func (k keyPlan) fleeting() bool {
	return k.op.Keep > 0 && k.op.Keep < time.Second && !k.remembered()
}

func (k keyPlan) remembered() bool { return k.op.KeepSeen > 0 }

// forgetful keys may have been done and have no answer.
func (k keyPlan) forgetful() bool { return k.large || k.remembered() }

// A call is one caller who does one operation, once or until it is done.
type callPlan struct {
	store, key int
	delay      time.Duration // after the start of the world
	asks       string        // fingerprint
	wait       time.Duration
	insists    bool // while it is told to call again
	cancel     cancelPlan
	recheck    recheckPlan
	script     script

	// DoTx inside a transaction of the caller's.
	tx        bool
	rollsBack bool // the caller, afterwards
}

// A cancelPlan says when the call's context ends.
type cancelPlan struct {
	when  byte // 0 never, b before the call, d by a deadline, w while it runs, f after the function has returned
	after time.Duration
}

// A recheckPlan says what Recheck answers: 0 there is none, y replay, n run
// again, e an error.
type recheckPlan byte

// A besidePlan is something that goes on beside the calls.
type besidePlan struct {
	what  byte // e expires a key, f frees one by hand, p purges
	key   int
	store int
	after time.Duration
	limit int // of a purge
	times int
}

// A script is what the function does, step by step.
type script []step

type step struct {
	do byte
	n  int
}

// The steps. What is in capitals ends the transaction by hand or goes on after
// an error.
const (
	write     = 'w' // an order
	sleep     = 's' // n microseconds
	stock     = 'u' // update row n of the stock, return the error
	fail      = 'e' // return an error
	panics    = 'p'
	exit      = 'g' // runtime.Goexit
	stop      = 'c' // cancel its own context and go on
	below     = 'n' // DoTx of key n in the same transaction, return the error
	itself    = 'i' // a Do of the same key, which must be refused
	swallowed = 'U' // as stock, but an error is ignored
	spoil     = 'X' // a statement that fails, which is ignored
	belowS    = 'N' // as below, but an error is ignored
	sqlCommit = 'C'
	sqlBack   = 'R'
	sqlBegin  = 'B' // commits on MySQL, harmless elsewhere
	sqlAuto   = 'A' // SET autocommit = 1
	sqlDDL    = 'D'
	txCommit  = 'M' // the method
	txBack    = 'K' // the method
)

// byHand are the statements that may end a transaction by hand.
func byHand(do byte) string {
	return map[byte]string{
		sqlCommit: "COMMIT", sqlBack: "ROLLBACK", sqlBegin: "BEGIN", sqlAuto: "SET autocommit = 1",
		sqlDDL: "CREATE TABLE IF NOT EXISTS ddl (id INTEGER)",
	}[do]
}

func (s script) has(steps string) bool {
	for _, st := range s {
		for i := range len(steps) {
			if st.do == steps[i] {
				return true
			}
		}
	}
	return false
}
