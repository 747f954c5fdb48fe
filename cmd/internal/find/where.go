package find

import (
	"strings"

	"github.com/nebis-dev/nebis"
)

// writing are words that have no place in a condition. As the name of a column
// each of them needs quotes anyway.
var writing = map[string]bool{
	"INSERT": true, "UPDATE": true, "DELETE": true, "MERGE": true, "DROP": true, "ALTER": true, "CREATE": true,
	"TRUNCATE": true, "REPLACE": true, "GRANT": true, "REVOKE": true, "INTO": true, "CALL": true, "EXEC": true, "EXECUTE": true,
	"ATTACH": true, "DETACH": true, "PRAGMA": true, "VACUUM": true, "COPY": true, "LOCK": true, "BEGIN": true, "COMMIT": true,
	"ROLLBACK": true, "OUTFILE": true, "DUMPFILE": true, "UNION": true, "PROCEDURE": true,
}

// functions are words that are functions as well, where a bracket follows.
var functions = map[string]bool{"INSERT": true, "REPLACE": true, "TRUNCATE": true}

// checkWhere refuses a condition that is more than one. It runs in a read-only
// transaction all the same; here it is told in words, and INTO OUTFILE, which
// writes without writing to the database, is kept out.
//
// It need not know how a database reads a backslash: one before a quote is
// refused.
func checkWhere(where string, d nebis.Dialect) error {
	c := &condition{rest: where, dialect: d}
	for c.rest != "" {
		if err := c.step(); err != nil {
			return err
		}
	}
	if c.depth != 0 {
		return mistake("--where has an opening bracket without its closing one")
	}
	return nil
}

type condition struct {
	rest    string
	depth   int
	dialect nebis.Dialect
}

func (c *condition) step() error {
	ch := c.rest[0]
	switch {
	case ch == '\'' || ch == '"' || ch == '`':
		return c.quoted(ch)
	case strings.HasPrefix(c.rest, "--") || strings.HasPrefix(c.rest, "/*") || ch == '#' && c.dialect == nebis.MySQL:
		return mistake("--where has a comment, which could hide the rest of the statement: leave it out")
	case ch == ';':
		return mistake("--where has a second statement behind a semicolon: it takes one condition and never writes")
	case ch == '\\' || ch == 0 || ch == '$' && c.dialect == nebis.Postgres || ch == '[' && c.dialect == nebis.SQLite || ch == '?' && c.dialect != nebis.Postgres:
		return mistake("--where has a %q outside of quotes, which could be read in more than one way", string(ch))
	case ch == '(':
		c.depth++
	case ch == ')':
		if c.depth--; c.depth < 0 {
			return mistake("--where has a closing bracket without its opening one")
		}
	case isWord(ch):
		return c.word()
	}
	c.rest = c.rest[1:]
	return nil
}

// quoted skips a text or a name; a doubled quote is two texts side by side.
func (c *condition) quoted(q byte) error {
	end := strings.IndexByte(c.rest[1:], q)
	if end < 0 {
		return mistake("--where has an opening %c without its closing one", q)
	}
	inner := c.rest[1 : end+1]
	if strings.HasSuffix(inner, `\`) {
		return mistake(`--where has a backslash before a quote: write a quote within a text twice ('')`)
	}
	c.rest = c.rest[end+2:]
	return nil
}

func (c *condition) word() error {
	end := 0
	for end < len(c.rest) && isWord(c.rest[end]) {
		end++
	}
	word := strings.ToUpper(c.rest[:end])
	c.rest = c.rest[end:]
	called := strings.HasPrefix(strings.TrimSpace(c.rest), "(")
	if writing[word] && (!functions[word] || !called) {
		return mistake("--where has the word %s: it takes a condition and never writes (a column of that name goes in quotes)", word)
	}
	return nil
}

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c >= 0x80
}
