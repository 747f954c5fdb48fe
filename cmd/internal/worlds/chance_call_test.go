package worlds

import "time"

func (c chance) call(w plan, m mood, key int) callPlan {
	p := callPlan{store: c.IntN(len(w.stores)), key: key, insists: c.in(2), tx: c.in(m.tx)}
	if m.spread > 0 && c.in(2) {
		p.delay = c.upTo(m.spread)
	}
	p.asks = []string{"", "f:same", "f:same", "f:same", "f:same", "f:same", "g:rule"}[c.IntN(7)]
	if c.in(15) {
		p.asks = "f:other"
	}
	p.wait = []time.Duration{0, 0, 0, 0, -1, 20 * time.Millisecond, 3 * time.Second}[c.IntN(7)]
	if c.in(m.impatient) {
		p.cancel = cancelPlan{"bdwwff"[c.IntN(6)], c.upTo(8 * time.Millisecond)}
		if p.cancel.when == 'f' {
			p.cancel.after = c.upTo(600 * time.Microsecond)
		}
	}
	if !p.tx && c.in(8) {
		p.recheck = recheckPlan("yyyne"[c.IntN(5)])
	}
	p.rollsBack = p.tx && c.in(5)
	p.script = c.script(w, m, p)
	return p
}

// script writes an order at one moment or at two, and between them whatever
// goes wrong.
func (c chance) script(w plan, m mood, p callPlan) script {
	var s script
	add := func(do byte, n int) { s = append(s, step{do, n}) }
	nap := func() {
		if c.in(2) {
			add(sleep, int(c.upTo(m.slow)/time.Microsecond))
		}
	}
	nap()
	add(write, 0)
	if c.in(5) {
		rows := []byte{byte(1 + c.IntN(3)), byte(1 + c.IntN(3))} // in either order: deadlocks
		for _, row := range rows {
			add(stock, int(row))
			nap()
		}
	}
	if c.in(20) && !p.tx {
		add(below, c.IntN(len(w.keys)))
	}
	if c.in(30) {
		add(itself, 0)
	}
	if c.in(m.evil) {
		s = append(s, c.evil(w, p)...)
	}
	nap()
	if c.in(m.bad) {
		add("eeepgcc"[c.IntN(7)], 0)
	}
	if c.in(3) && (w.p.armed && !p.tx || !s.has("UNCRBADMK")) {
		add(write, 0)
	}
	return s
}

// evil ends or loses the transaction and goes on. What is written after that
// stays, but where the store can prevent it.
func (c chance) evil(w plan, p callPlan) script {
	if c.in(2) {
		do := "CRBADMK"[c.IntN(7)]
		if do == sqlAuto && !w.p.ddlCommits {
			do = sqlCommit // the others have no such variable
		}
		return script{{do, 0}}
	}
	switch c.IntN(3) {
	case 0:
		return script{{spoil, 0}}
	case 1:
		if !p.tx {
			return script{{belowS, c.IntN(len(w.keys))}}
		}
	}
	return script{{swallowed, 1 + c.IntN(3)}, {sleep, 300}, {swallowed, 1 + c.IntN(3)}}
}
