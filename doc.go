// Package nebis makes a repeated write harmless: the same operation sent once
// or ten times takes effect once, and every sender gets the first answer.
//
// [Do] runs a function inside a database transaction in which the operation's
// key is claimed first and the function's result is saved last. Claim, business
// writes and stored answer commit together or vanish together, so within the
// keep time the function's writes are there exactly once, through crashes, lost
// answers and any number of processes.
//
// No library can do this for an effect outside the database: a mail, a payment
// or a file written inside the function happens as often as the function runs.
// Such calls belong after the commit.
//
// The rule: the function returns nil, and its result is saved and replayed. It
// returns an error, panics or exits, and everything rolls back and the key is
// free again. A refusal that a retry should see again (sold out) is data, not
// an error.
//
// There is one table ([Dialect.Schema], [Store.Migrate]) with one unique index,
// in the site's own database. The package needs only the standard library and
// works through any database/sql driver for MySQL, MariaDB, PostgreSQL and
// SQLite. It starts no goroutine and holds no state that matters outside the
// database.
package nebis
