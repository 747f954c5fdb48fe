package nebis

import (
	"regexp"
	"slices"
	"strings"
)

// A definition is the text of a CREATE TABLE of SQLite's, taken apart. SQLite
// cannot alter a column, so a table is built anew from an altered text, in which
// all that does not concern the Store stays as it was.
type definition struct {
	parts []string // columns, then constraints
	tail  string   // after the closing bracket
}

// parseDefinition takes a CREATE TABLE apart, without its comments. Not ok: it
// has no list of columns.
func parseDefinition(create string) (d definition, ok bool) {
	depth := 0
	var part strings.Builder
	for rest := create; rest != ""; {
		token := sqlToken(rest)
		rest = rest[len(token):]
		switch {
		case strings.HasPrefix(token, "--"), strings.HasPrefix(token, "/*"):
			token = " "
		case token == "(":
			if depth++; depth == 1 {
				part.Reset()
				continue
			}
		case token == ")":
			if depth--; depth == 0 {
				d.parts, d.tail = append(d.parts, strings.TrimSpace(part.String())), rest
				return d, true
			}
		case token == "," && depth == 1:
			d.parts = append(d.parts, strings.TrimSpace(part.String()))
			part.Reset()
			continue
		}
		part.WriteString(token)
	}
	return d, false
}

var sqlTokens = regexp.MustCompile(`(?s)^(?:--[^\n]*|/\*.*?(?:\*/|$)|'(?:[^']|'')*'|"(?:[^"]|"")*"|` + "`(?:[^`]|``)*`" + `|\[[^\]]*\]|\w+|.)`)

// sqlToken returns the first word, quotation, comment or other character.
func sqlToken(s string) string { return sqlTokens.FindString(s) }

// tokens returns a part's words and other characters, without blanks.
func tokens(part string) []string {
	var all []string
	for part != "" {
		t := sqlToken(part)
		part = part[len(t):]
		if strings.TrimSpace(t) != "" {
			all = append(all, t)
		}
	}
	return all
}

var constraintWords = []string{"CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN"}

// columnOf returns the name of the column that a part defines, in lower case, or
// "" for a constraint of the table.
func columnOf(part string) string {
	all := tokens(part)
	if len(all) == 0 || slices.Contains(constraintWords, strings.ToUpper(all[0])) {
		return ""
	}
	return unquoted(all[0])
}

func unquoted(token string) string { return strings.ToLower(strings.Trim(token, "\"'`[]")) }

// has reports whether one of the words stands in the part, outside quotations.
func has(part string, words ...string) bool {
	return slices.ContainsFunc(tokens(part), func(t string) bool {
		return slices.Contains(words, strings.ToUpper(t))
	})
}

// after returns the token that follows a word, or "".
func after(part, word string) string {
	all := tokens(part)
	i := slices.IndexFunc(all, func(t string) bool { return strings.EqualFold(t, word) })
	if i < 0 || i+1 == len(all) {
		return ""
	}
	return unquoted(all[i+1])
}

// oldUnique reports whether a part is a table's UNIQUE constraint over nothing
// but key and scope.
func oldUnique(part string) bool {
	if columnOf(part) != "" || !has(part, "UNIQUE") {
		return false
	}
	_, list, _ := strings.Cut(part, "(")
	var x index
	for _, t := range strings.Split(strings.TrimSuffix(list, ")"), ",") {
		if all := tokens(t); len(all) > 0 {
			x.columns = append(x.columns, unquoted(all[0]))
		}
	}
	return x.within("idem_key", "scope")
}

// lacks returns the words of status that the part, if it is a CHECK of status
// with a list of words, leaves out.
func lacks(part string) []string {
	all := tokens(part)
	names := slices.ContainsFunc(all, func(t string) bool { return unquoted(t) == "status" })
	if !names || !has(part, "CHECK") || !has(part, "IN") {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(statusWords), func(w string) bool {
		return slices.ContainsFunc(all, func(t string) bool { return unquoted(t) == w && t != w })
	})
}
