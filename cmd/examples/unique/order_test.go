package unique

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
	"github.com/nebis-dev/nebis/cmd/internal/exampletest"
)

func docs(t *testing.T) string { return exampletest.Page(t, "docs/unique-column.md") }

func TestTheDocsHaveThisRecipe(t *testing.T) {
	_, code, _ := strings.Cut(exampletest.Source(t, "order.go"), "// Order is")
	exampletest.HasCode(t, "// Order is"+code, "docs/unique-column.md")
}

func TestTheChinesePageHasTheSameCode(t *testing.T) { exampletest.SameCode(t, "unique-column") }

// table takes the DDL out of the docs.
func table(t *testing.T, d nebis.Dialect) []string {
	t.Helper()
	name := map[nebis.Dialect]string{nebis.MySQL: "MySQL, MariaDB", nebis.Postgres: "PostgreSQL", nebis.SQLite: "SQLite"}[d]
	_, rest, ok := strings.Cut(docs(t), "```sql\n-- "+name+"\n")
	ddl, _, ends := strings.Cut(rest, "```")
	if !ok || !ends {
		t.Fatalf("no table for %s in the docs", name)
	}
	return strings.Split(strings.TrimSpace(ddl), ";\n")
}

// everywhere runs f on a database of each kind, with the table of the docs.
func everywhere(t *testing.T, f func(t *testing.T, c dbtest.Config, db *sql.DB)) {
	for _, c := range dbtest.Each() {
		t.Run(c.Name, func(t *testing.T) {
			db := c.Open(t)
			if c.Dialect == nebis.Postgres {
				dollars(t)
			}
			for _, q := range table(t, c.Dialect) {
				if _, err := db.ExecContext(t.Context(), q); err != nil {
					t.Fatal(err)
				}
			}
			f(t, c, db)
		})
	}
}

// dollars does what the comment above the statements says, for one test.
func dollars(t *testing.T) {
	for _, q := range []*string{&insertOrder, &selectOrder} {
		before := *q
		t.Cleanup(func() { *q = before })
		for n := 1; strings.Contains(*q, "?"); n++ {
			*q = strings.Replace(*q, "?", fmt.Sprint("$", n), 1)
		}
	}
}

func TestTheRecipeOrdersOnce(t *testing.T) {
	everywhere(t, func(t *testing.T, _ dbtest.Config, db *sql.DB) {
		o := Order{Owner: "li", Key: "k", Item: "tea"}
		first, replayed, err := Place(t.Context(), db, o)
		if err != nil || replayed || first.ID == 0 || first.Item != "tea" {
			t.Fatal(first, replayed, err)
		}
		for range 3 {
			if again, replayed, err := Place(t.Context(), db, o); err != nil || !replayed || again != first {
				t.Error(again, replayed, err)
			}
		}
		o.Item = "biscuits"
		if got, _, err := Place(t.Context(), db, o); !errors.Is(err, ErrOther) || got != (Order{}) {
			t.Errorf("another order, the same key: %v, %v", got, err)
		}
		for _, other := range []Order{{Owner: "wang", Key: "k", Item: "tea"}, {Owner: "li", Key: "K", Item: "tea"}, {Owner: "li", Key: "k ", Item: "tea"}} {
			if got, replayed, err := Place(t.Context(), db, other); err != nil || replayed || got.ID == first.ID {
				t.Errorf("%q %q: %v, %t, %v", other.Owner, other.Key, got, replayed, err)
			}
		}
	})
}

// Two pools stand for two processes.
func TestTheRecipeOrdersOnceHoweverManySendAtOnce(t *testing.T) {
	everywhere(t, func(t *testing.T, _ dbtest.Config, db *sql.DB) {
		const keys, senders = 10, 20
		var mu sync.Mutex
		made, first := 0, map[Order]bool{}
		var all sync.WaitGroup
		for i := range keys * senders {
			all.Go(func() {
				o := Order{Owner: "li", Key: fmt.Sprint("k", i%keys), Item: "tea"}
				got, replayed, err := Place(t.Context(), db, o)
				for tries := 1; err != nil && tries < 100; tries++ { // as a client does
					got, replayed, err = Place(t.Context(), db, o)
				}
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					t.Error(err)
				}
				first[got] = true
				if !replayed {
					made++
				}
			})
		}
		all.Wait()
		var rows int
		if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM orders").Scan(&rows); err != nil {
			t.Fatal(err)
		}
		if rows != keys || len(first) != keys || made != keys {
			t.Errorf("%d rows, %d answers, %d made; want %d", rows, len(first), made, keys)
		}
	})
}

// inside is the docs' other way, for a transaction that has begun and goes on.
func TestTheTransactionGoesOnAfterOnConflictDoNothing(t *testing.T) {
	const mark = "ON CONFLICT (owner, idem_key) DO NOTHING"
	if !strings.Contains(docs(t), mark) {
		t.Error("the docs do not speak of it")
	}
	everywhere(t, func(t *testing.T, c dbtest.Config, db *sql.DB) {
		if c.Dialect == nebis.MySQL {
			t.Skip("MySQL and MariaDB have no ON CONFLICT")
		}
		first, _, err := Place(t.Context(), db, Order{Owner: "li", Key: "k", Item: "tea"})
		if err != nil {
			t.Fatal(err)
		}
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		for key, want := range map[string]int64{"k": 0, "new": 1} {
			res, err := tx.Exec(insertOrder+" "+mark, "li", key, "tea")
			if err != nil {
				t.Fatal(err)
			}
			if n, _ := res.RowsAffected(); n != want {
				t.Errorf("%s: %d rows, want %d", key, n, want)
			}
		}
		var id int64
		if err := tx.QueryRow("SELECT id FROM orders WHERE idem_key = 'k'").Scan(&id); err != nil || id != first.ID {
			t.Error(id, err)
		}
	})
}

// What the docs say of the other way: the transaction is lost.
func TestPostgresAbortsTheTransactionOfADuplicate(t *testing.T) {
	everywhere(t, func(t *testing.T, c dbtest.Config, db *sql.DB) {
		if _, _, err := Place(t.Context(), db, Order{Owner: "li", Key: "k", Item: "tea"}); err != nil {
			t.Fatal(err)
		}
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		if _, err := tx.Exec(insertOrder, "li", "k", "tea"); !nebis.Duplicate(err, "orders_key", "orders.owner", "orders.idem_key") {
			t.Fatal(err)
		}
		var n int
		err = tx.QueryRow("SELECT COUNT(*) FROM orders").Scan(&n)
		if aborted := err != nil; aborted != (c.Dialect == nebis.Postgres) {
			t.Error(err)
		}
	})
}
