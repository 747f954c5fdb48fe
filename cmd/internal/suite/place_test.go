package suite

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

// Duplicates of another process's keys wait in the one place that there is, one after
// the other: each gives it back.
func TestAPlaceToWaitInTheDatabaseIsGivenBack(t *testing.T) {
	for _, name := range []string{"mariadb", "mysql56", "postgres-pgx"} {
		t.Run(name, func(t *testing.T) {
			c := dbtest.Lookup(name)
			dsn := c.Fresh(t)
			db := c.Pool(t, dsn)
			createTables(t, db, c)
			first, err := nebis.New(db, c.Dialect, nil)
			must(t, err)
			other, err := nebis.New(c.Pool(t, dsn), c.Dialect, &nebis.Options{MaxWaitingConns: 1})
			must(t, err)
			for i := range 4 {
				op := nebis.Op{Scope: "s", Owner: "o", Key: fmt.Sprint("k", i)}
				answered := make(chan error, 1)
				_, _, err := nebis.Do(t.Context(), first, op, func(context.Context, *sql.Tx) (int, error) {
					go func() {
						_, replayed, err := nebis.Do(t.Context(), other, op, func(context.Context, *sql.Tx) (int, error) { return 2, nil })
						if err == nil && !replayed {
							err = fmt.Errorf("key %d ran twice", i)
						}
						answered <- err
					}()
					time.Sleep(200 * time.Millisecond) // so that it waits; if it is late, nothing is tried
					return 1, nil
				})
				must(t, err)
				must(t, <-answered)
			}
		})
	}
}
