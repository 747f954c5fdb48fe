package figures

import (
	"strings"

	"github.com/nebis-dev/nebis/cmd/internal/gauges"
)

var (
	running = gauge("nebis.operations_running", "{operation}", "Operations under way in this process.")
	waiting = gauge("nebis.duplicates_waiting", "{duplicate}", "Duplicates that wait in this process for an operation under way.")
	stuck   = gauge("nebis.operations_stuck", "{operation}", "Operations of this process that have been under way for more than 60 seconds.")
	oldest  = gauge("nebis.oldest_running", Seconds, "Since the oldest operation under way in this process began.")

	readOK    = gauge("nebis.table.read_success", "", "Whether the database has answered: without it the gauges of the table are missing.")
	readTook  = gauge("nebis.table.read", Seconds, "How long it took to read them, the last time.")
	rows      = gauge("nebis.table.rows", "{row}", "Rows by state. Done: above 10,000 rows as the database estimates it, keys that were freed among them. Expired: waiting for clean-up, up to 10,000. In progress (leases) and unknown: among the newest rows and those that were looked at in turn, up to 1,000.", "state")
	oldestRow = gauge("nebis.table.oldest_processing", Seconds, "Since the oldest row that is in progress or unknown was claimed.")
	lag       = gauge("nebis.table.cleanup_lag", Seconds, "Since the first row expired that has not been removed.")
	lastSweep = gauge("nebis.sweep.last_success_timestamp", Seconds, "When a clean-up of any process last came to its end, in seconds since 1970; 0: none has.")
	calls     = gauge("nebis.outbox.calls", "{call}", "Calls of the outbox that are not over, by state, up to 10,000 each.", "state")
	callsLag  = gauge("nebis.outbox.oldest_due", Seconds, "Since the first call of the outbox was due that nobody has made.")
	failures  = gauge("nebis.callback.failures", "{delivery}", "Deliveries of callbacks that have failed and were not done since, up to 10,000.")
	held      = gauge("nebis.stuck.transactions", "{transaction}", "Transactions of any program that have held a key for more than 60 seconds; on MySQL and MariaDB the keys that they hold. Not on SQLite.")
	hidden    = gauge("nebis.stuck.hidden", "{transaction}", "Transactions that hold a key, and whose age this account may not see: those of other accounts, on PostgreSQL, without pg_read_all_stats. Not on SQLite.")

	watched = []*Figure{running, waiting, stuck, oldest, readOK, readTook, rows, oldestRow, lag, lastSweep, calls, callsLag, failures, held, hidden}
)

// A Send takes the value that a gauge has now.
type Send func(f *Figure, v float64, labels ...string)

// Read sends what a Reader tells. What comes from a table that was not read is left
// out.
func Read(r *gauges.Reader, send Send) {
	now := r.Now()
	send(running, float64(now.Running))
	send(waiting, float64(now.Waiting))
	send(stuck, float64(now.Stuck))
	send(oldest, now.Oldest.Seconds())
	n := r.Read()
	send(readTook, n.Took.Seconds())
	if n.Err != nil {
		send(readOK, 0)
		return
	}
	send(readOK, 1)
	for state, times := range n.Rows {
		send(rows, float64(times), strings.ReplaceAll(string(state), " ", "-"))
	}
	send(oldestRow, n.Oldest.Seconds())
	send(lag, n.CleanupLag.Seconds())
	send(lastSweep, float64(n.LastSweep)/1e6)
	for state, times := range n.Calls {
		send(calls, float64(times), string(state))
	}
	send(callsLag, n.CallsLag.Seconds())
	send(failures, float64(n.Failures))
	if n.Held != nil {
		send(held, float64(n.Held.Stuck))
		send(hidden, float64(n.Held.Hidden))
	}
}
