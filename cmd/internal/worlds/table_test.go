package worlds

import (
	"database/sql"
	"encoding/json"
	"slices"
	"sort"
	"strings"
)

// What the tables say after a world.

type order struct {
	key            int
	began, expires string // when it was written, when its key was to expire
}

type keyRow struct {
	status, asks string
	response     sql.NullString
}

func (j *judge) load() error {
	j.orders, j.rows = map[string]order{}, map[string]keyRow{}
	rows, err := j.admin.Query("SELECT id, k, COALESCE(began, ''), COALESCE(expires, '') FROM orders")
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		var o order
		if err := rows.Scan(&id, &o.key, &o.began, &o.expires); err != nil {
			return err
		}
		j.orders[id] = o
	}
	if rows.Err() != nil {
		return rows.Err()
	}
	return j.loadKeys()
}

func (j *judge) loadKeys() error {
	rows, err := j.admin.Query("SELECT scope, owner, idem_key, status, COALESCE(fingerprint, ''), response FROM idempotency")
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var scope, owner, key string
		var r keyRow
		if err := rows.Scan(&scope, &owner, &key, &r.status, &r.asks, &r.response); err != nil {
			return err
		}
		j.rows[strings.Join([]string{scope, owner, key}, " ")] = r
	}
	return rows.Err()
}

// present counts the orders of a run that are there.
func (j *judge) present(r *run) int {
	n := 0
	for _, p := range r.parts {
		if _, ok := j.orders[p.id]; ok {
			n++
		}
	}
	return n
}

// done reports whether orders of a run are there. What it wrote after the database had
// taken its transaction, no key stands for: its caller was told, see partsAfter.
func (j *judge) done(r *run) bool {
	return slices.ContainsFunc(r.parts, func(p part) bool {
		_, there := j.orders[p.id]
		return there && !(p.after && r.lost)
	})
}

// allOrders checks that every run has left all of its orders or none, as its
// caller was told, and that nothing else is there.
func (j *judge) allOrders() {
	known := map[string]bool{}
	for _, r := range j.runs {
		for _, p := range r.parts {
			known[p.id] = true
		}
		j.parts(r)
	}
	for _, rec := range j.records {
		if rec.plan.tx && rec.outer == nil {
			j.notes(rec, known)
		}
	}
	for id := range j.orders {
		if !known[id] {
			j.wrongf("order %s, which nobody has reported", id)
		}
	}
}

func (j *judge) parts(r *run) {
	n := j.present(r)
	switch f := r.fate(); {
	case r.handed != 0 || r.lost:
		j.partsAfter(r)
	case f == gone && n > 0:
		j.wrongf("%s (%s): %d of its orders are there, although its caller was told %v", r.id, r.rec.plan, n, r.rec.err)
	case f == stays && n < len(r.parts):
		j.wrongf("%s (%s): %d of its %d orders are there, although its caller was told it was done", r.id, r.rec.plan, n, len(r.parts))
	case n > 0 && n < len(r.parts):
		j.wrongf("%s (%s): %d of %d orders", r.id, r.rec.plan, n, len(r.parts))
	}
}

// partsAfter checks a run that ended or lost its transaction: what was rolled
// back is gone, and what came after it too where the store can see to that.
func (j *judge) partsAfter(r *run) {
	for _, p := range r.parts {
		_, there := j.orders[p.id]
		undone := j.p.armed && !r.rec.plan.tx && r.handed != sqlAuto
		if there && (p.after && undone || !p.after && !r.handCommitted()) {
			j.wrongf("%s (%s): order %s is there, although the transaction was lost", r.id, r.rec.plan, p.id)
		}
	}
}

// notes checks what a caller of DoTx has written itself.
func (j *judge) notes(rec *record, known map[string]bool) {
	n := 0
	for _, which := range []string{"before", "after"} {
		id := rec.name + "/" + which
		known[id] = true
		if _, ok := j.orders[id]; ok {
			n++
		}
	}
	byHand := rec.run != nil && (rec.run.handed != 0 || rec.run.lost)
	switch {
	case byHand:
	case rec.end == committed && n != 2, rec.end == rolledBack && n != 0, rec.end == maybe && n == 1:
		j.wrongf("call %s: %d of the caller's own 2 rows are there, its transaction ended %d, DoTx said %v", rec.name, n, rec.end, rec.err)
	}
}

// key checks one key: how many orders, whether its row is the last of them.
func (j *judge) key(key int) {
	k := j.plan.keys[key]
	var done []*run
	for _, r := range j.runs {
		if r.rec.key == key && j.done(r) {
			done = append(done, r)
		}
	}
	sort.Slice(done, func(a, b int) bool { return done[a].began < done[b].began })
	switch {
	case k.fleeting():
		j.spaced(key, done)
	case len(done) > 1+j.opened[key]:
		j.wrongf("key %d: %d orders, %v, and it was opened again %d times", key, len(done), ids(done), j.opened[key])
	}
	j.row(key, done)
	j.fresh(key)
	j.apart(key)
}

func ids(runs []*run) []string {
	var s []string
	for _, r := range runs {
		s = append(s, r.id)
	}
	return s
}

// spaced checks that each order came after the key of the one before had
// expired, by the database's clock.
func (j *judge) spaced(key int, done []*run) {
	if j.opened[key] > 0 || j.handed(key) {
		return
	}
	for i := 1; i < len(done); i++ {
		before, after := j.orders[done[i-1].parts[0].id], j.orders[done[i].parts[0].id]
		if before.expires != "" && after.began < before.expires {
			j.wrongf("key %d: %s kept until %s, %s ran at %s", key, done[i-1].id, before.expires, done[i].id, after.began)
		}
	}
}

// row checks that the stored answer is that of the last order.
func (j *judge) row(key int, done []*run) {
	row, there := j.rows[j.name(key)]
	opened := j.opened[key] > 0 || j.plan.keys[key].fleeting()
	switch {
	case !there && len(done) > 0 && !opened:
		j.wrongf("key %d: orders %v, but no row", key, ids(done))
	case there && row.status == "processing" && !j.handed(key):
		j.wrongf("key %d: its row is stuck", key)
	case there && row.status == "failed" && !opened:
		j.wrongf("key %d: its row is failed", key)
	case there && row.status == "done":
		j.stored(key, row, done)
	}
}

func (j *judge) name(key int) string {
	op := j.plan.keys[key].op
	owner := op.Owner
	if strings.HasPrefix(owner, "\x00") {
		owner = "*"
	}
	return strings.Join([]string{op.Scope, owner, op.Key}, " ")
}

func (j *judge) stored(key int, row keyRow, done []*run) {
	if len(done) == 0 {
		j.wrongf("key %d: done, but there is no order", key)
		return
	}
	last := done[len(done)-1]
	if j.plan.keys[key].large {
		if row.response.Valid {
			j.wrongf("key %d: an answer that is too large was kept", key)
		}
		return
	}
	if j.plan.keys[key].remembered() && !row.response.Valid {
		return
	}
	var a answer
	if err := json.Unmarshal([]byte(row.response.String), &a); err != nil || a != last.result || row.asks != last.asks {
		j.wrongf("key %d: the row says %s to %q, the last order is %+v to %q", key, row.response.String, row.asks, last.result, last.asks)
	}
}

// fresh checks that no call got an answer that was out of date before it began.
func (j *judge) fresh(key int) {
	for _, c := range j.records {
		mine := j.runs[c.got.Run]
		if c.key != key || c.err != nil || mine == nil {
			continue
		}
		for _, d := range j.records {
			newer := j.runs[d.got.Run]
			if d.key == key && d.err == nil && newer != nil && d.ended < c.started && newer.began > mine.began && !(d.plan.tx && d.end != committed) && d.outer == nil {
				j.wrongf("key %d: call %s got %s, although %s had been told to %s before", key, c.name, mine.id, newer.id, d.name)
			}
		}
	}
}

// apart checks that no two functions of one key ran at the same time, unless
// one had lost its transaction meanwhile.
func (j *judge) apart(key int) {
	var runs []*run
	for _, r := range j.runs {
		if r.rec.key == key && !r.disturbed() {
			runs = append(runs, r)
		}
	}
	sort.Slice(runs, func(a, b int) bool { return runs[a].began < runs[b].began })
	for i := 1; i < len(runs); i++ {
		if runs[i].began < runs[i-1].ended {
			j.wrongf("key %d: %s and %s ran at the same time", key, runs[i-1].id, runs[i].id)
		}
	}
}
