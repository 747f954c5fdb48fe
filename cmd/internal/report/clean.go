package report

import (
	"strings"
	"unicode"
)

// Longest value that a report shows whole.
const longest = 120

// Clean makes text of strangers fit to be shown: a log or a table may hold
// control characters that a terminal obeys, and bytes that are no text.
func Clean(s string) string {
	cut := len(s) > 4*longest
	if cut {
		s = s[:4*longest]
	}
	runes := []rune(strings.ToValidUTF8(s, "\uFFFD"))
	for i, r := range runes {
		if r != '\uFFFD' && !unicode.IsPrint(r) {
			runes[i] = '\uFFFD'
		}
	}
	if len(runes) > longest || cut {
		return string(runes[:min(longest, len(runes))]) + "…"
	}
	return string(runes)
}
