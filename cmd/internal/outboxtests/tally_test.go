package outboxtests

import (
	"fmt"
	"io"
	"slices"
	"sync"
	"text/tabwriter"
)

// results are what -v prints at the end.
var results tally

// A tally has a line for each database and thing done.
type tally struct {
	mu    sync.Mutex
	lines []string
}

func (t *tally) add(database, what string, times, requests, charges int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, fmt.Sprintf("%s\t%s\t%d\t%d\t%d\n", database, what, times, requests, charges))
}

func (t *tally) print(w io.Writer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	slices.Sort(t.lines)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "database\tdone\ttimes\trequests\tcharges")
	for _, line := range t.lines {
		fmt.Fprint(table, line)
	}
	table.Flush()
}
