package crash

import (
	"encoding/json"
	"flag"
	"fmt"
	"testing"

	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
	"github.com/nebis-dev/nebis/cmd/internal/killed"
)

var times = flag.Int("times", 20, "how often each step is killed, frozen or cut on each database")

func TestMain(m *testing.M) { killed.Main(m, results.print) }

// databases are those whose program is killed and frozen.
func databases() []dbtest.Config {
	return []dbtest.Config{
		dbtest.Lookup("sqlite-modernc"), dbtest.Lookup("mariadb"),
		dbtest.Lookup("postgres-pgx"), dbtest.Lookup("mysql56"),
	}
}

func each(t *testing.T, configs []dbtest.Config, f func(t *testing.T, c dbtest.Config)) {
	t.Helper()
	for _, c := range configs {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			f(t, c)
		})
	}
}

func encode(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// lanes splits *times over parallel worlds, for what waits more than it works.
func lanes(t *testing.T, f func(t *testing.T, times int)) {
	t.Helper()
	const n = 4
	for i := range min(n, *times) {
		t.Run(fmt.Sprint("lane ", i+1), func(t *testing.T) {
			t.Parallel()
			f(t, (*times+i)/n)
		})
	}
}
