package shop

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// takenKey is for the time at which the callback's function began to run.
type takenKey struct{}

// hearing notes each callback and what it was answered, and cuts the answers that the
// provider's page wants cut. The callback's handler knows nothing of it.
func (s *Shop) hearing(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		taken := new(atomic.Pointer[time.Time])
		a := &kept{header: http.Header{}, status: http.StatusOK}
		next.ServeHTTP(a, r.WithContext(context.WithValue(r.Context(), takenKey{}, taken)))
		id, err := strconv.ParseInt(r.URL.Query().Get("out_trade_no"), 10, 64)
		if err != nil {
			a.send(w)
			return
		}
		cut := s.cuts.next(id)
		// The number may be a forger's: only what is known is worth a note.
		if _, err := s.find(r.Context(), id); err == nil {
			n := note{What: "callback", Outcome: heardAs(a.status, taken.Load() != nil), N: a.status, Text: a.body.String(), Cut: cut}
			if at := taken.Load(); at != nil {
				n.At = *at // before all that it has done
			}
			s.tally.note(id, n)
		}
		if cut {
			a.cut(w)
		}
		a.send(w)
	})
}

// heardAs says what became of a callback.
func heardAs(status int, ran bool) string {
	switch {
	case status == http.StatusOK && ran:
		return "accepted"
	case status == http.StatusOK:
		return "duplicate"
	case status < http.StatusInternalServerError:
		return "refused"
	case status == http.StatusServiceUnavailable:
		return "busy"
	}
	return "failed"
}

// kept is an answer that is not sent yet.
type kept struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (k *kept) Header() http.Header         { return k.header }
func (k *kept) WriteHeader(status int)      { k.status = status }
func (k *kept) Write(b []byte) (int, error) { return k.body.Write(b) }

func (k *kept) send(w http.ResponseWriter) {
	k.begin(w)
	w.Write(k.body.Bytes())
}

// cut sends the beginning of the answer and hangs up.
func (k *kept) cut(w http.ResponseWriter) {
	w.Header().Set("Content-Length", strconv.Itoa(k.body.Len()))
	k.begin(w)
	w.Write(k.body.Bytes()[:k.body.Len()/2])
	_ = http.NewResponseController(w).Flush() // what cannot be flushed is lost as well
	panic(http.ErrAbortHandler)
}

func (k *kept) begin(w http.ResponseWriter) {
	for name, values := range k.header {
		w.Header()[name] = values
	}
	w.WriteHeader(k.status)
}

// cuts are the answers that are to be cut, of each order.
type cuts struct {
	mu   sync.Mutex
	left map[int64]int
}

// set has the next n answers about an order cut; 0 none.
func (c *cuts) set(id int64, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left == nil {
		c.left = map[int64]int{}
	}
	c.left[id] = n
	if n == 0 {
		delete(c.left, id)
	}
}

func (c *cuts) next(id int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left[id] == 0 {
		return false
	}
	c.left[id]--
	return true
}
