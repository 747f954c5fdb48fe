// Package bounded keeps the values of a label few: a scope made of paths, or a slip
// of the program, must not fill the memory of who measures it.
package bounded

import "sync"

// Other stands for what is malformed, and for what is too many.
const Other = "(other)"

// A Set is the values that a label has. It is safe for use by many goroutines.
type Set struct {
	most int
	mu   sync.RWMutex
	seen map[string]bool
}

// New returns a Set that takes most values, and Other.
func New(most int) *Set { return &Set{most: most, seen: map[string]bool{}} }

// Label returns the value, or Other in its place. Fresh: for the first time.
func (s *Set) Label(value string) (label string, fresh bool) {
	if !plain(value) {
		value = Other
	}
	s.mu.RLock()
	known := s.seen[value]
	s.mu.RUnlock()
	if known {
		return value, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.seen[value] && value != Other && s.values() >= s.most {
		value = Other
	}
	fresh = !s.seen[value]
	s.seen[value] = true
	return value, fresh
}

func (s *Set) values() int {
	if s.seen[Other] {
		return len(s.seen) - 1
	}
	return len(s.seen)
}

// plain reports whether it is a scope that a Store takes: nothing that a label
// cannot have.
func plain(value string) bool {
	for i := range len(value) {
		if value[i] < '!' || value[i] > '~' {
			return false
		}
	}
	return value != "" && len(value) <= 64
}
