// Package outbox makes calls to the outside after the commit: a call that is
// added in a transaction is made if, and only if, that transaction has
// committed, through crashes and restarts, until it is done or has failed for
// good.
//
// No library can make it exactly once on the other side. A call is made again
// when its answer was lost, so each has an idempotency key of its own, the same
// for every try; the other side has to honor it. Where it does not, a try whose
// answer was lost happens twice.
//
// [Outbox.Add] writes one row beside the business's own rows. [Outbox.Run], in
// this process or others, claims rows by a lease and a fencing token, makes the
// calls that were given to [Outbox.Handle], tries again with growing pauses, and
// at the end runs the compensation, or leaves the call to a person ([Outbox.List],
// [Outbox.Retry], [Outbox.Park], [Outbox.Compensate]).
//
// It is a small outbox in the site's own database, not a job system: it has no
// priorities, no schedules, no workflows.
package outbox
