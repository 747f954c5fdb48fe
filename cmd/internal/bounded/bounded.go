// Package bounded keeps the values of a label few: a scope made of paths, or a slip
// of the program, must not fill the memory of who measures it.
package bounded

import "sync"

// Other stands for what is malformed, and for what is too many.
const Other = "(other)"

// A Map is what belongs to the values that a label has. It is safe for use by many
// goroutines.
type Map[T any] struct {
	most  int
	fresh func(label string) T
	mu    sync.RWMutex
	seen  map[string]T
}

// New returns a Map that takes most values, and Other. What belongs to one is made
// by fresh, once.
func New[T any](most int, fresh func(label string) T) *Map[T] {
	return &Map[T]{most: most, fresh: fresh, seen: map[string]T{}}
}

// Get returns what belongs to the value, or to Other in its place.
func (m *Map[T]) Get(value string) T {
	if !plain(value) {
		value = Other
	}
	m.mu.RLock()
	known, ok := m.seen[value]
	m.mu.RUnlock()
	if ok {
		return known
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.seen[value]; !ok && value != Other && m.values() >= m.most {
		value = Other
	}
	if _, ok := m.seen[value]; !ok {
		m.seen[value] = m.fresh(value)
	}
	return m.seen[value]
}

func (m *Map[T]) values() int {
	if _, ok := m.seen[Other]; ok {
		return len(m.seen) - 1
	}
	return len(m.seen)
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
