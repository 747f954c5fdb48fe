package find

import (
	"strconv"
	"strings"
)

// query is one statement with its arguments.
type query struct {
	d    dialect
	args []any
}

func (q *query) arg(c column, text string) string {
	q.args = append(q.args, q.d.arg(c, text))
	return q.d.param(len(q.args), c)
}

// beyond compares columns with values in their order: op is ">", "<" or "<=".
// It is written so that every database, MySQL 5.6 as well, uses an index.
func (q *query) beyond(columns []column, values []string, op string) string {
	c, v := columns[0], values[0]
	name := q.d.quote(c.name)
	if len(columns) == 1 {
		return name + " " + op + " " + q.arg(c, v)
	}
	strict := op[:1]
	edge := name + " " + strict + "= " + q.arg(c, v)
	inner := name + " " + strict + " " + q.arg(c, v)
	equal := name + " = " + q.arg(c, v)
	return "(" + edge + " AND (" + inner + " OR (" + equal + " AND " + q.beyond(columns[1:], values[1:], op) + ")))"
}

func (f *finder) from() string {
	if f.table.schema == "" {
		return f.sql.quote(f.table.name)
	}
	return f.sql.quote(f.table.schema) + "." + f.sql.quote(f.table.name)
}

// ranged are the conditions that a read keeps to one range of keys.
func (f *finder) ranged(q *query, r readOrder, from, to []string) []string {
	var conditions []string
	switch {
	case from != nil:
		conditions = append(conditions, q.beyond(r.columns, from, ">"))
	case r.since != "":
		conditions = append(conditions, f.sql.quote(f.at.name)+" >= "+q.arg(f.at, r.since))
	}
	if to != nil {
		conditions = append(conditions, q.beyond(r.columns, to, "<="))
	}
	return conditions
}

// boundQuery finds the key at the end of the next range, so that a condition
// which few rows meet cannot make a read long.
func (f *finder) boundQuery(r readOrder, from []string) *statement {
	q := &query{d: f.sql}
	s := "SELECT " + f.texts(r.columns) + " FROM " + f.from() + whereAll(f.ranged(q, r, from, nil)) +
		f.orderBy(r) + " LIMIT 1 OFFSET " + strconv.Itoa(f.opts.Page-1)
	return &statement{s, q.args}
}

// pageQuery reads one range; what was inserted into it meanwhile is read as well.
func (f *finder) pageQuery(r readOrder, from, to []string) *statement {
	q := &query{d: f.sql}
	conditions := f.ranged(q, r, from, to)
	if f.opts.Where != "" {
		conditions = append(conditions, "("+f.opts.Where+"\n)")
	}
	s := "SELECT " + f.texts(f.selected(r)) + " FROM " + f.from() + whereAll(conditions) + f.orderBy(r)
	if len(r.columns) > 0 && to == nil {
		s += " LIMIT " + strconv.Itoa(f.opts.Page)
	}
	return &statement{s, q.args}
}

// statement is ready to be run.
type statement struct {
	sql  string
	args []any
}

func whereAll(all []string) string {
	if len(all) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(all, " AND ")
}

// orderBy names the table as well: PostgreSQL takes a bare name for the column
// of the output, which is the text.
func (f *finder) orderBy(r readOrder) string {
	if len(r.columns) == 0 {
		return ""
	}
	var all []string
	for _, c := range r.columns {
		all = append(all, f.from()+"."+f.sql.quote(c.name))
	}
	return " ORDER BY " + strings.Join(all, ", ")
}

func (f *finder) texts(columns []column) string {
	var all []string
	for _, c := range columns {
		all = append(all, f.sql.text(c))
	}
	return strings.Join(all, ", ")
}

// selected are the columns of a row as it is read: the cursor, the time, what
// must agree, the id, the amount.
func (f *finder) selected(r readOrder) []column {
	all := append([]column{}, r.columns...)
	all = append(all, f.at)
	all = append(all, f.same...)
	all = append(all, f.id...)
	if f.sum != nil {
		all = append(all, *f.sum)
	}
	return all
}
