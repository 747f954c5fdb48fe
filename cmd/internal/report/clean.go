package report

import (
	"strings"
	"unicode"
)

// How many characters of a value a report shows in a list, and where it stands
// alone.
const (
	longest = 120
	longer  = 2000
)

// Clean makes text of strangers fit to be shown: a log or a table may hold
// control characters that a terminal obeys, and bytes that are no text.
func Clean(s string) string { return clean(s, longest) }

// CleanLong is Clean for what must be seen whole: a condition, a list of columns.
func CleanLong(s string) string { return clean(s, longer) }

func clean(s string, most int) string {
	cut := len(s) > 4*most
	if cut {
		s = s[:4*most]
	}
	runes := []rune(strings.ToValidUTF8(s, "\uFFFD"))
	for i, r := range runes {
		if r != '\uFFFD' && !unicode.IsPrint(r) {
			runes[i] = '\uFFFD'
		}
	}
	if len(runes) > most || cut {
		return string(runes[:min(most, len(runes))]) + "…"
	}
	return string(runes)
}

// ShellQuote makes one argument of a shell, from a text that whoever sent a request
// may have chosen.
func ShellQuote(s string) string {
	return "'" + strings.ReplaceAll(CleanLong(s), "'", `'\''`) + "'"
}
