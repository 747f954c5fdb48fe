package scan

import (
	"strings"
	"testing"
	"time"
)

// A write is held until its window is over, and attackers send long fields.
func TestWhatAWriteHoldsIsBounded(t *testing.T) {
	long := []byte(strings.Repeat("x", 100_000))
	s, err := newScanner(&Options{Full: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []entry{{addr: long, user: long}, {addr: long, cookie: long}} {
		e[method], e[path] = []byte("POST"), long
		if w := s.reader.write(&e, 0); len(w.addr) > 200 || len(w.who) > 200 || len(w.route.Path) > 210 {
			t.Errorf("it holds %d, %d and %d bytes", len(w.addr), len(w.who), len(w.route.Path))
		}
	}
}

func TestRoutesAreBounded(t *testing.T) {
	rs := newRoutes()
	for i := range maxPaths + 10 {
		rs.of([]byte("POST"), []byte("/"+strings.Repeat("a", i%150)+strings.Repeat("z", i/150)))
	}
	if len(rs.byName) > maxRoutes+1 || len(rs.byPath) > maxPaths {
		t.Errorf("%d routes, %d paths", len(rs.byName), len(rs.byPath))
	}
}

// Memory is flat: beyond these bounds something is given up, and said.
func TestWritesThatWaitAreBounded(t *testing.T) {
	var q queue
	for i := range maxWaiting {
		if q.push(&write{at: int64(maxWaiting - i)}); i < maxWaiting-1 && q.pop(false) != nil {
			t.Fatalf("write %d did not wait", i)
		}
	}
	if w := q.pop(false); w == nil || w.at != 1 {
		t.Errorf("beyond the bound comes %v", w)
	}
}

func TestVisitorsAreBounded(t *testing.T) {
	for apart, crowded := range map[int64]bool{0: true, second: false} {
		r := newRepeats(Window, &Result{location: time.UTC, Causes: map[Cause]int{}})
		route := newRoutes().of([]byte("POST"), []byte("/"))
		for i := range 2*maxVisitors + 2 {
			r.take(&write{at: int64(i) * apart, visitor: uint64(i), route: route})
			if len(r.young)+len(r.old) > 2*maxVisitors {
				t.Fatalf("%d visitors are remembered", len(r.young)+len(r.old))
			}
		}
		if r.result.Crowded != crowded {
			t.Errorf("%d µs apart: crowded %v", apart, !crowded)
		}
	}
}
