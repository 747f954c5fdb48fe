package scan

// slack is how far lines may be out of order: servers write a line when the
// request ends, and some note when it began.
const slack = 60 * second

// maxWaiting bounds the writes that wait for earlier ones; beyond it the oldest
// goes on.
const maxWaiting = 1 << 16

// queue puts writes in the order of their time. It is a heap.
type queue struct {
	heap   []queued
	pushed int
	newest int64
}

type queued struct {
	*write
	n int // those of one time stay as they came
}

func (q queued) before(other queued) bool {
	return q.at < other.at || q.at == other.at && q.n < other.n
}

func (q *queue) push(w *write) {
	q.newest = max(q.newest, w.at)
	q.heap = append(q.heap, queued{w, q.pushed})
	q.pushed++
	for i := len(q.heap) - 1; i > 0; {
		up := (i - 1) / 2
		if !q.heap[i].before(q.heap[up]) {
			return
		}
		q.heap[i], q.heap[up] = q.heap[up], q.heap[i]
		i = up
	}
}

// pop returns the earliest write once no earlier one is to come, and at the end
// whatever is left.
func (q *queue) pop(end bool) *write {
	if len(q.heap) == 0 || !end && len(q.heap) < maxWaiting && q.heap[0].at > q.newest-slack {
		return nil
	}
	first := q.heap[0].write
	last := len(q.heap) - 1
	q.heap[0] = q.heap[last]
	q.heap[last] = queued{}
	q.heap = q.heap[:last]
	q.sink()
	return first
}

func (q *queue) sink() {
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(q.heap); child++ {
			if q.heap[child].before(q.heap[least]) {
				least = child
			}
		}
		if least == i {
			return
		}
		q.heap[i], q.heap[least] = q.heap[least], q.heap[i]
		i = least
	}
}
