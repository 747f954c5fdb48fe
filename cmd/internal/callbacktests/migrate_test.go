package callbacktests

import (
	"testing"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/callback"
)

// Many processes may make the table at the same time.
func TestManyMigrate(t *testing.T) {
	for _, c := range databases() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			for range 5 {
				db := c.Pool(t, c.Fresh(t))
				store, err := nebis.New(db, c.Dialect, nil)
				if err != nil {
					t.Fatal(err)
				}
				errs := make(chan error)
				for range 16 {
					go func() { errs <- callback.Migrate(t.Context(), db, store) }()
				}
				for range 16 {
					if err := <-errs; err != nil {
						t.Error(err)
					}
				}
				if _, err := callback.Failures(t.Context(), db, store, "", 1); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
