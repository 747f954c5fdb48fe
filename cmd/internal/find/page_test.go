package find_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/nebis-dev/nebis/cmd/internal/find"
	"github.com/nebis-dev/nebis/cmd/internal/report"
)

// Half of an id finds no row, least of all one that could be deleted.
func TestNoIDIsCutInTwo(t *testing.T) {
	s := openShop(t, "sqlite:"+filepath.Join(t.TempDir(), "shop.db"))
	s.exec("CREATE TABLE orders (id TEXT PRIMARY KEY, user_id INTEGER, created_at INTEGER)")
	long := func(letter string) string { return strings.Repeat(letter, 45) }
	for i, id := range []string{long("a"), long("b"), long("c")} {
		s.exec("INSERT INTO orders VALUES (?, 1, ?)", id, 1_750_000_000+i)
	}
	for i, id := range []string{"d", "e"} {
		s.exec("INSERT INTO orders VALUES (?, 2, ?)", id, 1_760_000_000+i)
	}
	s.exec("INSERT INTO orders VALUES (?, 3, 1770000000), (?, 3, 1770000000)", strings.Repeat("f", 110), "g")
	sections := s.find(find.Options{Same: []string{"user_id"}, At: "created_at", Full: true}).Page(report.English).Sections
	rows := sections[len(sections)-1].Table.Rows
	for i, want := range []string{strings.Repeat("f", 110) + " …", "d, e", long("a") + ", " + long("b") + " …"} {
		if got := rows[i][3]; got != want {
			t.Errorf("the ids are %s, want %s", got, want)
		}
	}
}
