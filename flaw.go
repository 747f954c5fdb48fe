package nebis

import (
	"fmt"
	"slices"
	"strings"
)

// A want is what a column has to be for the Store.
type want struct {
	name   string
	kind   kind
	length int64 // characters that it has to hold
	exact  bool  // the database compares it, byte by byte
}

// The columns, in the order of the schema.
var wants = []want{
	{"id", number, 0, false},
	{"idem_key", text, maxKey, true},
	{"scope", text, maxScope, true},
	{"owner", text, maxOwner, true},
	{"status", text, int64(len("processing")), false},
	{"fingerprint", text, maxFingerprint, false},
	{"token", text, 26, false}, // as rand.Text makes it
	{"lease_until", moment, 0, false},
	{"attempts", number, 0, false},
	{"error", text, 0, false},
	{"response", text, mediumText, false},
	{"created_at", moment, 0, false},
	{"updated_at", moment, 0, false},
	{"expires_at", moment, 0, false},
}

const mediumText = 1<<24 - 1

var statusWords = []string{"processing", "done", "failed"}

// A flaw is what keeps a column from being what the Store wants.
type flaw struct {
	column string
	code   string // of the Finding
	what   string
	byHand string // what a person has to do; empty where Migrate can do it
}

// flaws returns what is wrong with the columns.
func (s *shape) flaws() []flaw {
	var fs []flaw
	for _, w := range wants {
		c := s.column(w.name)
		switch {
		case c != nil:
			fs = append(fs, w.flaws(c)...)
		case w.name == "id":
			fs = append(fs, flaw{"id", "column-missing", "there is no column id", "add a column id that numbers the rows by itself, with a unique index"})
		default:
			fs = append(fs, flaw{w.name, "column-missing", "there is no column " + w.name, ""})
		}
	}
	return append(append(fs, s.borrowed()...), s.demanding()...)
}

// flaws returns what is wrong with the column c.
func (w want) flaws(c *column) []flaw {
	var fs []flaw
	add := func(code, byHand, what string, args ...any) {
		fs = append(fs, flaw{w.name, code, fmt.Sprintf(what, args...), byHand})
	}
	switch {
	case w.name == "id" && (c.kind != number || !c.filled):
		add("column-type", "make it a whole number that the database fills", "column id is %s and does not number the rows by itself", c.typ)
	case c.kind != w.kind && !(w.kind == text && c.kind == label && (w.exact || w.name == "status")):
		add("column-type", "rename the column, or give the Store another table (Options.Table)", "column %s is %s, in which the Store's values have no place", w.name, c.typ)
		return fs
	}
	switch {
	case w.name == "status" && (len(c.lacks) > 0 || c.padded || c.short(w.length)):
		add("status-words", "", "column status (%s) cannot hold the words %s as they are", c.typ, strings.Join(statusWords, ", "))
	case w.name == "response" && c.short(w.length):
		add("response-small", "", "column response (%s) holds %d bytes; a longer answer fails, or is cut where the server is not strict", c.typ, c.length)
	case c.short(w.length) || w.exact && c.kind == label:
		add("key-narrow", "", "column %s (%s) cannot hold the Store's %d characters", w.name, c.typ, w.length)
	}
	if w.exact && c.kind == text && !c.exact {
		add("key-folds", "", "column %s (%s) takes different values for the same (upper and lower case, accents, blanks, leading zeros)", w.name, c.typ)
	}
	if w.name == "response" && c.charset != "" && c.charset != "utf8mb4" && c.charset != "binary" {
		add("response-alters", "", "column response is in %s, which lacks most characters; an answer with others fails, or is altered where the server is not strict", c.charset)
	}
	if w.name == "response" && c.numeric {
		add("response-alters", "", "column response (%s) makes a number of an answer that looks like one, and loses digits", c.typ)
	}
	if w.name == "response" && !c.nullable {
		add("column-required", "", "column response may not be empty, but is while an operation runs")
	}
	return fs
}

func (c *column) short(length int64) bool { return c.length > 0 && c.length < length }

// borrowed finds columns whose names are the Store's and whose meaning is the
// old code's: a table has both of these or none.
func (s *shape) borrowed() []flaw {
	has, hasNot := "token", "expires_at"
	if s.column(has) == nil {
		has, hasNot = hasNot, has
	}
	c := s.column(has)
	if c == nil || s.column(hasNot) != nil || c.typ == "timestamp with time zone" {
		return nil // where the type says which moment it is, the old code's expiry is as good as the Store's
	}
	return []flaw{{has, "column-type", "column " + has + " is there, but it is not the Store's",
		"rename the column, or give the Store another table (Options.Table)"}}
}

// demanding finds columns that an INSERT has to fill and the Store does not know.
func (s *shape) demanding() []flaw {
	var fs []flaw
	for _, c := range s.columns {
		known := slices.ContainsFunc(wants, func(w want) bool { return w.name == c.name })
		if !known && !c.nullable && !c.filled {
			fs = append(fs, flaw{c.name, "column-required", fmt.Sprintf("column %s (%s) must be filled, and the Store does not know with what", c.name, c.typ),
				"give it a default, or let it be NULL"})
		}
	}
	return fs
}

// refusal is what Migrate says to a table that only a person can put right.
func (s *shape) refusal() error {
	if !s.exists {
		return nil
	}
	if s.notTable != "" {
		return fmt.Errorf("it is a %s, not a table", s.notTable)
	}
	var whys []string
	for _, f := range s.flaws() {
		if f.byHand != "" {
			whys = append(whys, f.what+": "+f.byHand)
		}
	}
	for _, x := range s.indexes {
		if x.unique && x.deferred {
			whys = append(whys, x.late()+": "+makeImmediate)
		}
	}
	if s.rows.twice {
		whys = append(whys, s.doubles()+": "+removeDoubles)
	}
	if len(whys) == 0 {
		return nil
	}
	return fmt.Errorf("nothing was changed: %s", strings.Join(whys, "; "))
}

const makeImmediate = "make it anew, not deferrable"

func (x index) late() string {
	return "the unique index " + x.name + " judges at COMMIT, and no claim can be made beside it"
}

const removeDoubles = "keep one row of each and run Migrate again"

func (s *shape) doubles() string {
	return "no unique index forbids doubles, and there are some (SELECT " + s.groups() + ", COUNT(*) … GROUP BY " + s.groups() + " HAVING COUNT(*) > 1)"
}

// definitions takes the columns' definitions out of a CREATE TABLE of ours, so
// that a column that is added is the same as one that was there from the start.
func definitions(create string) map[string]string {
	defs := map[string]string{}
	for _, line := range strings.Split(create, "\n") {
		line = strings.TrimSuffix(strings.TrimSpace(line), ",")
		if name, _, ok := strings.Cut(line, " "); ok {
			defs[name] = line
		}
	}
	return defs
}

func wantOf(column string) want {
	i := slices.IndexFunc(wants, func(w want) bool { return w.name == column })
	if i < 0 {
		return want{}
	}
	return wants[i]
}

// altered reports whether Migrate has to alter the column.
func (w want) altered(c *column) bool {
	return w.name != "" && slices.ContainsFunc(w.flaws(c), func(f flaw) bool { return f.byHand == "" })
}
