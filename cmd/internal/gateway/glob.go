package gateway

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// glob is a text with * (anything) and {name} (something).
type glob struct {
	text  string
	parts []byte // what stands at each place: see the classes
	re    *regexp.Regexp
}

// The classes of what stands in a pattern, the one that says most first.
const (
	letter byte = iota
	name
	end
	star
)

// What {name} stands for.
const (
	pathMark  = `[^/]+`
	queryMark = `.+`
)

var (
	errBrace = errors.New("a { wants a name and its }, such as {id}")
	errStars = errors.New("two * one after the other say no more than one")
)

func parseGlob(s, mark string) (glob, error) {
	g := glob{text: s}
	re := strings.Builder{}
	re.WriteString(`(?s)\A`)
	seen := map[string]bool{}
	for rest := s; rest != ""; {
		i := strings.IndexAny(rest, "*{}")
		if i < 0 {
			i = len(rest)
		}
		if err := g.literal(&re, rest[:i], mark); err != nil {
			return g, err
		}
		var err error
		if rest, err = g.special(&re, rest[i:], mark, seen); err != nil {
			return g, err
		}
	}
	g.parts = append(g.parts, end)
	re.WriteString(`\z`)
	var err error
	g.re, err = regexp.Compile(re.String())
	return g, err
}

// literal adds text, which may have %XX as in a URL.
func (g *glob) literal(re *strings.Builder, s, mark string) error {
	plain, err := url.PathUnescape(s)
	if mark == queryMark {
		plain, err = url.QueryUnescape(s)
	}
	if err != nil {
		return fmt.Errorf("%q has a %% that is not followed by two hexadecimal digits; a percent sign is written %%25", s)
	}
	re.WriteString(regexp.QuoteMeta(plain))
	g.parts = append(g.parts, make([]byte, len(plain))...) // each a letter
	return nil
}

// special adds the * or {name} that s begins with, and returns what is left.
func (g *glob) special(re *strings.Builder, s, mark string, seen map[string]bool) (string, error) {
	switch {
	case s == "":
		return "", nil
	case s[0] == '*':
		if strings.HasPrefix(s, "**") {
			return "", errStars
		}
		g.parts = append(g.parts, star)
		re.WriteString(".*")
		return s[1:], nil
	}
	label, rest, closed := strings.Cut(s[1:], "}")
	if s[0] == '}' || !closed || label == "" || strings.ContainsAny(label, "*{/?&=") {
		return "", errBrace
	}
	if seen[label] {
		return "", fmt.Errorf("{%s} is there twice", label)
	}
	seen[label] = true
	g.parts = append(g.parts, name)
	re.WriteString(mark)
	return rest, nil
}

func (g glob) match(s string) bool { return g.re.MatchString(s) }

func (g glob) compare(other glob) int {
	return cmp.Or(slices.Compare(g.parts, other.parts), strings.Compare(g.re.String(), other.re.String()))
}
