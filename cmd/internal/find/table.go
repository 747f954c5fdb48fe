package find

import (
	"strings"
)

// table is what the database says about a table or view.
type table struct {
	schema, name string
	columns      []column
	key          []column // what tells rows apart: the primary key, or a unique index without NULL
	page         []column // what the table is read by, in order; none for a view
	indexes      []index
	rows         int // as the database estimates
}

type column struct {
	name      string
	typ       string // in lower case, without length
	full      string // as the database writes it
	notNull   bool
	auto      bool // the database counts it
	generated bool
}

type index struct {
	columns []string
	unique  bool
	primary bool
}

// names lists columns.
func names(columns []column) []string {
	all := make([]string, len(columns))
	for i, c := range columns {
		all[i] = c.name
	}
	return all
}

// named finds columns by the names that a person gave, in another case if
// need be. Only names that the database itself has told get into SQL.
func (t *table) named(wanted []string) ([]column, error) {
	var found []column
	for _, name := range wanted {
		i, ok := match(name, names(t.columns))
		if !ok {
			return nil, Mistakef("%s has no column %q; it has %s", t.name, name, strings.Join(names(t.columns), ", "))
		}
		found = append(found, t.columns[i])
	}
	return found, nil
}

// match prefers the exact name, then the only one that differs in case.
func match(name string, all []string) (int, bool) {
	found, n := 0, 0
	for i, candidate := range all {
		if candidate == name {
			return i, true
		}
		if strings.EqualFold(candidate, name) {
			found, n = i, n+1
		}
	}
	return found, n == 1
}

// settleKey chooses the key from the indexes.
func (t *table) settleKey() {
	for _, primary := range []bool{true, false} {
		for _, ix := range t.indexes {
			if !ix.unique || ix.primary != primary {
				continue
			}
			if key, err := t.named(ix.columns); err == nil && (primary || allNotNull(key)) {
				t.key, t.page = key, key
				return
			}
		}
	}
}

func allNotNull(columns []column) bool {
	for _, c := range columns {
		if !c.notNull {
			return false
		}
	}
	return len(columns) > 0
}

// indexed tells whether an index begins with the column.
func (t *table) indexed(c column) bool {
	for _, ix := range t.indexes {
		if len(ix.columns) > 0 && ix.columns[0] == c.name {
			return true
		}
	}
	return false
}

// alone tells whether the column by itself is unique.
func (t *table) alone(c column) bool {
	for _, ix := range t.indexes {
		if ix.unique && len(ix.columns) == 1 && ix.columns[0] == c.name {
			return true
		}
	}
	return false
}

func (c column) integer() bool {
	switch c.typ {
	case "int", "integer", "bigint", "smallint", "mediumint", "tinyint", "int2", "int4", "int8", "unsigned big int":
		return true
	}
	return false
}

// timed tells a type that is a time by itself.
func (c column) timed() bool {
	return strings.HasPrefix(c.typ, "timestamp") || c.typ == "datetime" || c.typ == "date"
}

// base is a type without length and sign: varchar(20) is varchar.
func base(full string) string {
	full = strings.ToLower(full)
	before, after, ok := strings.Cut(full, "(")
	if ok {
		if _, rest, ok := strings.Cut(after, ")"); ok {
			before += rest // timestamp(6) with time zone
		}
	}
	return strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(before), " unsigned"))
}
