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
	return (&condition{flag: "--where", takes: "one condition", rest: where, dialect: d}).check()
}

// A condition is SQL that somebody has written on the command line.
type condition struct {
	flag, takes string
	whole, rest string
	depth       int
	dotted      bool // the name that comes belongs to a schema or a table
	dialect     nebis.Dialect
	marked      bool  // it may have question marks, which stand for values
	marks       []int // where they are in the whole
}

func (c *condition) check() error {
	c.whole = c.rest
	for c.rest != "" {
		if err := c.step(); err != nil {
			return err
		}
	}
	if c.depth != 0 {
		return c.wrong("has an opening bracket without its closing one")
	}
	return nil
}

func (c *condition) wrong(format string, args ...any) error {
	return Mistakef(c.flag+" "+format, args...)
}

func (c *condition) step() error {
	ch := c.rest[0]
	switch {
	case ch == '\'' || ch == '"' || ch == '`':
		return c.quoted(ch)
	case strings.HasPrefix(c.rest, "--") || strings.HasPrefix(c.rest, "/*") || ch == '#' && c.dialect == nebis.MySQL:
		return c.wrong("has a comment, which could hide the rest of the statement: leave it out")
	case ch == ';':
		return c.wrong("has a second statement behind a semicolon: it takes %s and never writes", c.takes)
	case ch == '?' && c.marked:
		c.marks = append(c.marks, len(c.whole)-len(c.rest))
	case ch == '\\' || ch == 0 || ch == '$' && c.dialect == nebis.Postgres || ch == '[' && c.dialect == nebis.SQLite || ch == '?' && c.dialect != nebis.Postgres:
		return c.wrong("has a %q outside of quotes, which could be read in more than one way", string(ch))
	case ch == '(':
		c.depth++
	case ch == ')':
		if c.depth--; c.depth < 0 {
			return c.wrong("has a closing bracket without its opening one")
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
		return c.wrong("has an opening %c without its closing one", q)
	}
	inner := c.rest[1 : end+1]
	if strings.HasSuffix(inner, `\`) {
		return c.wrong(`has a backslash before a quote: write a quote within a text twice ('')`)
	}
	c.rest = c.rest[end+2:]
	if c.called() {
		return c.wrong("calls %c%s%c: a function goes without quotes", q, inner, q)
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
		return c.wrong("has the word %s: it takes %s and never writes (a column of that name goes in quotes)", word, c.takes)
	case c.called() && (dotted || !functions[word] && !before[word] && !pure[word]):
		return c.wrong("calls %s(), which is none of the functions that are known to compute and do nothing else (LOWER, COALESCE, DATE …): some write, lock or wait even in a read-only transaction", name)
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
