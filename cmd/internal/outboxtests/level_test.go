package outboxtests

import (
	"database/sql"
	"fmt"
	"testing"

	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
	"github.com/nebis-dev/nebis/outbox"
)

// otherLevels are one configuration of each product with each level that is not
// its default.
func otherLevels() (all []dbtest.Config) {
	for _, name := range []string{"mariadb", "mysql56", "postgres-pgx"} {
		c := dbtest.Lookup(name)
		for _, level := range c.Levels() {
			if level != c.Default() {
				all = append(all, c.At(level))
			}
		}
	}
	return all
}

// The level is the session's, for the business transaction and for the workers.
func TestACallAtEveryOtherIsolationLevel(t *testing.T) {
	tests := []callTest{
		{"committed: made at once, and once", outbox.Options{}, testCommitted},
		{"rolled back: never made", outbox.Options{}, testRolledBack},
		{"an error is tried again with the same key", outbox.Options{}, testAgain},
		{"the end of its tries: compensated once", outbox.Options{}, testCompensated},
		{"a compensation that ends its transaction by hand", outbox.Options{}, testCompensationCommits},
		{"a compensation whose call somebody else has: nothing of it stays", outbox.Options{}, testLostCompensation},
		{"old calls are purged", outbox.Options{Keep: 1}, testPurge},
		{"a person has a dead call made again", outbox.Options{}, testRetry},
		{"many persons decide at once: one does", outbox.Options{}, testManyPersons},
	}
	for _, c := range otherLevels() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, c)
			for i, test := range tests {
				t.Run(test.name, func(t *testing.T) { test.f(w.desk(t, fmt.Sprint("outbox_", i), test.o)) })
			}
		})
	}
}

// A binary log of statements takes no writes below REPEATABLE READ.
func TestACallWithALogOfStatements(t *testing.T) {
	for _, name := range []string{"mariadb", "mysql56"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := dbtest.Lookup(name)
			w := newWorld(t, c.On(dbtest.Private(t, c.Kind, &dbtest.Options{Fast: true, Statements: true})))
			testCommitted(w.desk(t, "outbox_committed", outbox.Options{}))
			testPurge(w.desk(t, "outbox_purged", outbox.Options{Keep: 1}))
		})
	}
}

// Orders are placed while the workers claim: what one of the two waits for or
// loses at these levels must not cost a call.
func TestTenWorkersInThreeProcessesAtOtherIsolationLevels(t *testing.T) {
	for _, c := range []dbtest.Config{
		dbtest.Lookup("mariadb").At(sql.LevelSerializable),
		dbtest.Lookup("postgres-pgx").At(sql.LevelRepeatableRead),
		dbtest.Lookup("postgres-pgx").At(sql.LevelSerializable),
	} {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			tenWorkers(t, c, 40)
		})
	}
}
