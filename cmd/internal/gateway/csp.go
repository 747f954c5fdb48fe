package gateway

import (
	"slices"
	"strings"
)

// scriptPolicy says whether a page's Content-Security-Policy lets our script in:
// as a file of its own, or with a nonce that the page has for its own scripts.
type scriptPolicy struct {
	hosts    []string
	policies [][]string // the sources of each policy that has something to say
}

// add takes one header line or meta element; several policies have commas between.
func (s *scriptPolicy) add(line string) {
	for policy := range strings.SplitSeq(line, ",") {
		if sources, ok := scriptSources(policy); ok {
			s.policies = append(s.policies, sources)
		}
	}
}

// scriptSources finds the directive that is in force for script elements.
func scriptSources(policy string) ([]string, bool) {
	directives := map[string][]string{}
	for d := range strings.SplitSeq(policy, ";") {
		words := strings.Fields(d)
		if len(words) == 0 {
			continue
		}
		name := strings.ToLower(words[0])
		if _, twice := directives[name]; !twice { // the first counts
			directives[name] = words[1:]
		}
	}
	for _, name := range []string{"script-src-elem", "script-src", "default-src"} {
		if sources, ok := directives[name]; ok {
			return sources, true
		}
	}
	return nil, false
}

// admit returns the nonce to use, "" where none is needed, and whether the script
// may be there at all. All policies have to agree.
func (s *scriptPolicy) admit() (nonce string, ok bool) {
	var strict [][]string
	for _, sources := range s.policies {
		if !s.takesFile(sources) {
			strict = append(strict, sources)
		}
	}
	if len(strict) == 0 {
		return "", true
	}
	for _, source := range strict[0] {
		n, isNonce := nonceIn(source)
		if isNonce && !slices.ContainsFunc(strict, func(other []string) bool { return !hasNonce(other, n) }) {
			return n, true
		}
	}
	return "", false
}

func nonceIn(source string) (string, bool) {
	const before = "'nonce-"
	if len(source) <= len(before)+1 || !strings.EqualFold(source[:len(before)], before) || !strings.HasSuffix(source, "'") {
		return "", false
	}
	return source[len(before) : len(source)-1], true
}

func hasNonce(sources []string, nonce string) bool {
	return slices.ContainsFunc(sources, func(s string) bool { n, ok := nonceIn(s); return ok && n == nonce })
}

// takesFile reports whether a script from the page's own host needs nothing else.
func (s *scriptPolicy) takesFile(sources []string) bool {
	takes := false
	for _, source := range sources {
		source = strings.ToLower(source)
		if source == "'strict-dynamic'" { // then only a nonce counts
			return false
		}
		takes = takes || source == "'self'" || source == "*" || source == "https:" || source == "http:" || s.isOwn(source)
	}
	return takes
}

func (s *scriptPolicy) isOwn(source string) bool {
	scheme, host, ok := strings.Cut(source, "://")
	if !ok {
		scheme, host = "", source
	}
	return !strings.Contains(host, "/") && slices.Contains(s.hosts, normalHost(host, scheme))
}
