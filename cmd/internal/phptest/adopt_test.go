package phptest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nebis-dev/nebis/cmd/internal/badday"
	"github.com/nebis-dev/nebis/cmd/internal/badday/baddaytest"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
	"github.com/nebis-dev/nebis/cmd/internal/dburl/dburltest"
)

// The pages of docs/adopt.md, on the day that is sent to the shop in Go as well.
func TestTheBadDay(t *testing.T) {
	for _, name := range []string{"mariadb", "sqlite-modernc"} {
		c := dbtest.Lookup(name)
		t.Run(name, func(t *testing.T) {
			needPHP(t, c.Kind)
			tool := baddaytest.Tool(t)
			for step, page := range []string{"0-before.php", "1-prg.php", "2-index.php", "3-table.php"} {
				t.Run(page, func(t *testing.T) {
					dsn := c.Fresh(t)
					s := adopt(t, page, append(pdo(t, c.Kind, dsn), "PHP_CLI_SERVER_WORKERS=4"))
					s.setUp(step)
					s.start()
					t.Cleanup(s.kill)
					if err := badday.Send(t.Context(), s.url); err != nil {
						t.Fatal(err)
					}
					baddaytest.Compare(t, tool, findURL(t, c, dsn), step)
				})
			}
		})
	}
}

// adopt is a site whose one page answers every path.
func adopt(t *testing.T, page string, env []string) *site {
	s := &site{t: t, dir: t.TempDir(), env: env, server: &server{}}
	for _, folder := range []string{"php", "cmd/examples/adopt/php"} {
		s.must(os.CopyFS(s.dir, os.DirFS(filepath.Join(top, folder))))
	}
	s.must(os.Rename(filepath.Join(s.dir, page), filepath.Join(s.dir, "index.php")))
	return s
}

// setUp makes the tables of a step as the page has people make them.
func (s *site) setUp(step int) {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), "php", "setup.php", fmt.Sprint(step))
	cmd.Dir, cmd.Env = s.dir, append(os.Environ(), s.env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("%v\n%s", err, out)
	}
}

// findURL is a DSN as nebis takes it.
func findURL(t *testing.T, c dbtest.Config, dsn string) string {
	if c.Kind == dbtest.SQLite {
		file, _, _ := strings.Cut(strings.TrimPrefix(dsn, "file:"), "?")
		return "sqlite:" + file
	}
	return dburltest.URL(t, c, dsn)
}
