package worlds

import (
	"fmt"
	"strings"
	"time"
)

// lines prints a plan compactly: equal calls once, with their number.
func (w plan) lines() string {
	var b strings.Builder
	fmt.Fprintf(&b, "world %d on %s\n", w.seed, w.p.name)
	for i, s := range w.stores {
		fmt.Fprintf(&b, "  store %d: %s conns=%d wait=%v piece=%v waiters=%d waiting-conns=%d isolation=%v strict=%v unprepared=%v commit=%v\n", i, w.p.variants[s.variant].Name,
			s.conns, s.o.Wait, s.o.WaitPiece, s.o.MaxWaiters, s.o.MaxWaitingConns, s.o.Isolation, s.o.Strict, s.o.Unprepared, s.o.CommitWait)
	}
	for i, k := range w.keys {
		fmt.Fprintf(&b, "  key %d: %s %q %s keep=%v seen=%v large=%v old=%v\n", i, k.op.Scope, k.op.Owner, k.op.Key, k.op.Keep, k.op.KeepSeen, k.large, k.old)
	}
	for _, x := range w.beside {
		fmt.Fprintf(&b, "  beside: %c key=%d store=%d after=%v limit=%d times=%d\n", x.what, x.key, x.store, x.after.Round(time.Microsecond), x.limit, x.times)
	}
	times := map[string]int{}
	for _, c := range w.calls {
		times[c.String()]++
	}
	for _, c := range w.calls {
		if n := times[c.String()]; n > 0 {
			fmt.Fprintf(&b, "  %d× %s\n", n, c)
		}
		delete(times, c.String())
	}
	return b.String()
}

// String leaves out the delay, which is different for nearly every call.
func (c callPlan) String() string {
	s := fmt.Sprintf("store %d key %d %s", c.store, c.key, c.script)
	add := func(yes bool, format string, args ...any) {
		if yes {
			s += " " + fmt.Sprintf(format, args...)
		}
	}
	add(c.asks != "", "asks=%s", c.asks)
	add(c.wait != 0, "wait=%v", c.wait)
	add(c.insists, "insists")
	add(c.tx, "tx")
	add(c.rollsBack, "rolls-back")
	add(c.recheck != 0, "recheck=%c", c.recheck)
	add(c.cancel.when != 0, "cancel=%c:%v", c.cancel.when, c.cancel.after.Round(time.Microsecond))
	return s
}

func (s script) String() string {
	var steps []string
	for _, st := range s {
		steps = append(steps, st.String())
	}
	return "(" + strings.Join(steps, " ") + ")"
}

func (st step) String() string {
	if strings.ContainsRune("sunUN", rune(st.do)) {
		return fmt.Sprintf("%c%d", st.do, st.n)
	}
	return string(st.do)
}
