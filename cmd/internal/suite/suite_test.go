// Package suite runs the conformance suite on every database and driver that
// the project supports.
package suite

import (
	"database/sql"
	"testing"

	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
	"github.com/nebis-dev/nebis/nebistest"
)

func TestConformance(t *testing.T) {
	for _, c := range dbtest.Configs() {
		t.Run(c.Name, func(t *testing.T) { conform(t, c) })
	}
}

// The default levels are those of TestConformance.
func TestConformanceAtEveryOtherIsolationLevel(t *testing.T) {
	for _, c := range dbtest.Each() {
		for _, level := range c.Levels() {
			if level == c.Default() {
				continue
			}
			c := c.At(level)
			t.Run(c.Name, func(t *testing.T) { conform(t, c) })
		}
	}
}

func conform(t *testing.T, c dbtest.Config) {
	dsn := c.Fresh(t)
	nebistest.Run(t, c.Dialect, func(tb testing.TB) *sql.DB { return c.Pool(tb, dsn) })
}
