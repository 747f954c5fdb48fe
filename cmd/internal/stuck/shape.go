package stuck

import (
	"regexp"
	"strings"

	"github.com/nebis-dev/nebis"
)

// What is left out of a statement: texts, numbers, comments. Quoting goes first, so
// that nothing in a text is taken for anything else; what does not end is taken to
// the end, and comments, which PostgreSQL nests, to the end of the last.
//
// A backslash escapes a quote on PostgreSQL in a text with an E before it, and on
// SQLite nowhere: to see one where there is none would turn texts inside out.
// Elsewhere a setting decides (NO_BACKSLASH_ESCAPES, standard_conforming_strings),
// and what follows the first such quote is left out.
const (
	escaped  = `'(?:[^'\\]|\\.|'')*(?:'|\\?$)`
	standard = `'(?:[^']|'')*(?:'|$)`
	either   = `'(?:[^'\\]|\\[^']|'')*(?:'|\\'.*|\\?$)`
	double   = `"(?:[^"\\]|\\[^"]|"")*(?:"|\\".*|\\?$)`
	comments = `/\*(?:.*\*/|.*$)|--.*`
	numbers  = `\b\d(?:[eE][+-]|[\w.])*` // 0b11, 1_000 and 1.e5 as well
)

var values = map[nebis.Dialect]*regexp.Regexp{
	nebis.MySQL:    regexp.MustCompile(either + `|` + double + "|`[^`]*`" + `|#.*|` + comments + `|` + numbers),
	nebis.Postgres: regexp.MustCompile(`\b[eE]` + escaped + `|` + either + `|"(?:[^"]|"")*"?|\$(?:[A-Za-z_\x80-\x{10FFFF}][\w\x80-\x{10FFFF}]*)?\$.*|\$\d+|` + comments + `|` + numbers),
	nebis.SQLite:   regexp.MustCompile(standard + `|"(?:[^"]|"")*"?|\[[^\]]*\]|` + "`[^`]*`|" + comments + `|` + numbers),
}

// longest is how much of a statement is shown.
const longest = 160

// Shape is a statement without its values, on one line and shortened: keys, owners
// and what people write must not get into a log.
func Shape(d nebis.Dialect, query string) string {
	query = values[d].ReplaceAllStringFunc(strings.ReplaceAll(query, "\n", " "), func(v string) string {
		switch {
		case strings.HasPrefix(v, "/*"), strings.HasPrefix(v, "--"), strings.HasPrefix(v, "#"):
			return " "
		case name.MatchString(v), v[0] == '"' && d != nebis.MySQL && identifier.MatchString(v):
			return v
		}
		return "?"
	})
	query = strings.Join(strings.Fields(query), " ")
	if runes := []rune(query); len(runes) > longest {
		query = string(runes[:longest]) + "…"
	}
	return query
}

// A name is a parameter, or what is in quotes for names, of MySQL or SQLite.
var name = regexp.MustCompile("^(?:\\$\\d+|`[^`]*`|\\[[^\\]]*\\])$")

// A word in double quotes is a name on PostgreSQL and SQLite, on MySQL a text.
var identifier = regexp.MustCompile(`^"[A-Za-z_]+"$`)
