package crash

import (
	"fmt"
	"io"
	"sync"
)

// A tally is what became of the keys of one test on one database.
type tally struct {
	Times        int // kills, freezes or cuts
	Keys         int
	Answers      int // given to callers, retries included
	Acknowledged int // keys whose first call was answered
	Silent       int // committed, but nobody was told until a retry
	Again        int // not committed; a retry ran it
	Lost         int // acknowledged or insisted on, and not there
	Doubled      int // there more than once
	Untrue       int // answers that differ from the row, and errors that lied
}

func (s *tally) add(o tally) {
	s.Times += o.Times
	s.Keys += o.Keys
	s.Answers += o.Answers
	s.Acknowledged += o.Acknowledged
	s.Silent += o.Silent
	s.Again += o.Again
	s.Lost += o.Lost
	s.Doubled += o.Doubled
	s.Untrue += o.Untrue
}

// table collects the tallies of all tests, in the order in which they ended.
type table struct {
	mu    sync.Mutex
	names [][2]string
	sums  map[[2]string]*tally
}

var results table

func (r *table) add(test, config string, sum tally) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sums == nil {
		r.sums = map[[2]string]*tally{}
	}
	name := [2]string{test, config}
	if r.sums[name] == nil {
		r.sums[name] = new(tally)
		r.names = append(r.names, name)
	}
	r.sums[name].add(sum)
}

// print writes the table as docs/proofs.md has it.
func (r *table) print(out io.Writer) {
	fmt.Fprintln(out, "| step | database | times | keys | answers | acknowledged at once | committed, answer lost | not committed, run by the retry | lost | doubled | untrue |")
	fmt.Fprintln(out, "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
	for _, name := range r.names {
		s := r.sums[name]
		fmt.Fprintf(out, "| %s | %s | %d | %d | %d | %d | %d | %d | %d | %d | %d |\n", name[0], name[1],
			s.Times, s.Keys, s.Answers, s.Acknowledged, s.Silent, s.Again, s.Lost, s.Doubled, s.Untrue)
	}
}
