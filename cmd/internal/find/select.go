package find

import (
	"strings"

	"github.com/nebis-dev/nebis"
)

// CheckSelect refuses a statement that is not one SELECT with one question mark for a
// value, by the rules of --where, and returns it as the database's driver takes it.
// It is to be run in a read-only transaction all the same.
func CheckSelect(flag, query string, d nebis.Dialect) (string, error) {
	query = strings.TrimSpace(query)
	query = strings.TrimSpace(strings.TrimSuffix(query, ";"))
	c := &condition{flag: flag, takes: "one SELECT", rest: query, dialect: d, marked: true}
	first, _, _ := strings.Cut(strings.Join(strings.Fields(query), " "), " ")
	if word := strings.ToUpper(first); word != "SELECT" && word != "WITH" {
		return "", c.wrong("begins with %q: it takes one SELECT and never writes", first)
	}
	if err := c.check(); err != nil {
		return "", err
	}
	if len(c.marks) != 1 {
		return "", c.wrong("has %d question marks outside of quotes: it takes one, where the id goes", len(c.marks))
	}
	if d == nebis.Postgres {
		at := c.marks[0]
		query = query[:at] + "$1" + query[at+1:]
	}
	return query, nil
}
