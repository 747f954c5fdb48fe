package reconcile

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// Same says that a column must have what the answer has.
type Same struct{ column, pointer string }

// ParseSame reads COLUMN=/pointer.
func ParseSame(s string) (Same, error) {
	column, path, ok := strings.Cut(s, "=")
	if !ok || column == "" || path != "" && path[0] != '/' {
		return Same{}, fmt.Errorf("%q is not like amount=/amount, a column and a JSON pointer", s)
	}
	return Same{strings.TrimSpace(column), path}, nil
}

// Expect says which values a column may have.
type Expect struct {
	Column string
	Values []string
}

// A Difference is a column that is not as it should be. Nil is NULL.
type Difference struct {
	Column string   `json:"column"`
	Have   *string  `json:"have"`
	Want   []string `json:"want"` // one of them
}

// compare returns the columns that are not as they should be.
func (o *Options) compare(columns []string, row []sql.NullString, a answer) []Difference {
	var all []Difference
	for i, want := range a.wants {
		s := o.Same[i]
		if have := row[at(columns, s.column)]; !same(have, want) {
			all = append(all, Difference{s.column, text(have), []string{written(want)}})
		}
	}
	for _, e := range o.Expect {
		if have := row[at(columns, e.Column)]; !have.Valid || !slices.Contains(e.Values, have.String) {
			all = append(all, Difference{e.Column, text(have), e.Values})
		}
	}
	return all
}

// at is the place of a column, -1 where there is none. PostgreSQL makes the names
// small that are written without quotes.
func at(columns []string, name string) int {
	return slices.IndexFunc(columns, func(c string) bool { return strings.EqualFold(c, name) })
}

func text(v sql.NullString) *string {
	if !v.Valid {
		return nil
	}
	return &v.String
}

func written(v any) string {
	if v == nil {
		return "null"
	}
	return fmt.Sprint(v)
}

// same compares by the kind of value that the answer has: 25 and 25.00 are one
// number, but not one text.
func same(have sql.NullString, want any) bool {
	switch v := want.(type) {
	case nil:
		return !have.Valid
	case bool:
		is, err := strconv.ParseBool(have.String)
		return have.Valid && err == nil && is == v
	case json.Number:
		return have.Valid && sameNumber(have.String, v.String())
	case string:
		return have.Valid && have.String == v
	}
	return false
}

func sameNumber(a, b string) bool {
	if strings.ContainsAny(a+b, "eE") { // of which exact arithmetic could make something enormous
		x, err1 := strconv.ParseFloat(a, 64)
		y, err2 := strconv.ParseFloat(b, 64)
		return err1 == nil && err2 == nil && x == y
	}
	x, ok1 := new(big.Rat).SetString(a)
	y, ok2 := new(big.Rat).SetString(b)
	return ok1 && ok2 && x.Cmp(y) == 0
}
