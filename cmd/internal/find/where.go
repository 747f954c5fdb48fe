package find

import (
	"strings"

	"github.com/nebis-dev/nebis"
)

// checkWhere refuses a condition that is more than one. It runs in a read-only
// transaction all the same; here it is told in words, and what acts without
// writing to a table, INTO OUTFILE and functions such as pg_terminate_backend,
// is kept out.
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
	dotted  bool // the name that comes belongs to a schema or a table
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
	c.dotted = ch == '.' || c.dotted && isSpace(ch)
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
	if c.called() {
		return mistake("--where calls %c%s%c: a function goes without quotes", q, inner, q)
	}
	c.dotted = false
	return nil
}

func (c *condition) word() error {
	end := 0
	for end < len(c.rest) && isWord(c.rest[end]) {
		end++
	}
	name := c.rest[:end]
	word := strings.ToUpper(name)
	c.rest = c.rest[end:]
	dotted := c.dotted
	c.dotted = false
	switch {
	case writing[word] && (!functions[word] || !c.called()):
		return mistake("--where has the word %s: it takes a condition and never writes (a column of that name goes in quotes)", word)
	case c.called() && (dotted || !functions[word] && !before[word] && !pure[word]):
		return mistake("--where calls %s(), which is none of the functions that are known to compute and do nothing else (LOWER, COALESCE, DATE …): some write, lock or wait even in a read-only transaction", name)
	}
	return nil
}

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

// called tells whether a bracket comes next.
func (c *condition) called() bool {
	return strings.HasPrefix(strings.TrimSpace(c.rest), "(")
}

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c >= 0x80
}
