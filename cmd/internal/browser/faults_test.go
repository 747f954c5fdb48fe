package browser

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/chromedp/chromedp"
)

// slow makes every order wait until hurry is called.
func (s *site) slow() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gate = make(chan struct{})
}

func (s *site) hurry() {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.gate:
	default:
		close(s.gate)
	}
	s.change.Broadcast()
}

// next meets the next orders with faults.
func (s *site) next(f ...fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, f...)
}

// meet meets all orders with a fault, until it is nil.
func (s *site) meet(f fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.always = f
}

// reply answers an order without doing it; header has names and values.
func reply(status int, header ...string) fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		fmt.Fprintf(w, "<!doctype html><h1>%d</h1>", status)
	}
}

// loseRequest closes the connection and does nothing.
func loseRequest(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
	if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
		conn.Close()
	}
}

// loseAnswer does the work and closes the connection instead of answering.
func loseAnswer(w http.ResponseWriter, r *http.Request, next http.Handler) {
	next.ServeHTTP(httptest.NewRecorder(), r)
	loseRequest(w, r, next)
}

// cutAnswer does the work and closes the connection in the middle of the answer: of
// its headers for a person, of its body for a program.
func cutAnswer(w http.ResponseWriter, r *http.Request, next http.Handler) {
	next.ServeHTTP(httptest.NewRecorder(), r)
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	if !program(r) {
		_, _ = io.WriteString(conn, "HTTP/1.1 303 See Other\r\nLoca")
		return
	}
	_, _ = io.WriteString(conn, "HTTP/1.1 201 Created\r\nIdempotency-Status: created\r\nContent-Length: 8\r\n\r\n{\"id")
}

// await waits until a condition holds, which is asked with s.mu held.
func (s *site) await(met func() bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for !met() && s.t.Context().Err() == nil {
		s.change.Wait()
	}
}

// arrivals returns the orders that have arrived.
func (s *site) arrivals() []arrival {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]arrival(nil), s.sent...)
}

// arrived waits until n orders have arrived in all.
func (s *site) arrived(n int) step {
	return poll(fmt.Sprintf("%d orders to arrive", n), func(context.Context, *chromedp.Target) bool {
		return len(s.arrivals()) >= n
	})
}

// settled waits until every order that has arrived is answered.
func (s *site) settled() step {
	return poll("all answers", func(context.Context, *chromedp.Target) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.working == 0
	})
}

// when runs JavaScript in the page once n orders have arrived. It comes before the
// click, because a page that is being left hears no more commands of the test.
func (s *site) when(n int, code string) step {
	return script(fmt.Sprintf(`void fetch("/arrived/%d").then(async () => { %s })`, n, code))
}

// then calls f between two steps.
func then(f func()) step {
	return chromedp.Func(func(context.Context, *chromedp.Target) error { f(); return nil })
}

// want fails the test unless there are n orders, after all is answered.
func (s *site) want(n int) {
	s.t.Helper()
	s.await(func() bool { return s.working == 0 })
	var got int
	if err := s.db.QueryRowContext(context.Background(), `SELECT COUNT(*) FROM orders`).Scan(&got); err != nil {
		s.t.Fatal(err)
	}
	if got != n {
		s.t.Errorf("%d orders, want %d; arrived: %v", got, n, s.arrivals())
	}
}

// wantSent fails the test unless n orders have arrived, with that many keys.
func (s *site) wantSent(n, keys int) {
	s.t.Helper()
	all := s.arrivals()
	different := map[string]bool{}
	for _, a := range all {
		different[a.key] = true
	}
	if len(all) != n || len(different) != keys {
		s.t.Errorf("arrived: %v, want %d orders with %d keys", all, n, keys)
	}
}
