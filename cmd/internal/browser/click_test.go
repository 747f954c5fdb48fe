package browser

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// Cases 40 and 41. The server answers after both clicks. Without the client it gets
// two requests: the browser drops the first and shows the second's answer.
func TestADoubleClickIsOneOrder(t *testing.T) {
	t.Parallel()
	for _, pause := range []time.Duration{0, 60 * time.Millisecond, 200 * time.Millisecond, 700 * time.Millisecond} {
		t.Run(pause.String(), func(t *testing.T) {
			t.Parallel()
			each(t, all, func(t *testing.T, w way, s *site, b tab) {
				s.slow()
				between := []step{chromedp.Sleep(pause)}
				// Of two clicks at once the browser itself may drop one.
				both := !w.client() && (pause > 0 || w == unprotected)
				if both {
					between = append(between, s.arrived(1))
				}
				b.do(twice(between...), s.arrived(1))
				if both {
					b.do(s.arrived(2))
				}
				b.do(then(s.hurry), result)
				s.want(w.orders())
				if w.client() {
					s.wantSent(1, 1)
				}
			})
		})
	}
}

// Case 41.
func TestEnterTwiceIsOneOrder(t *testing.T) {
	t.Parallel()
	each(t, all, func(t *testing.T, w way, s *site, b tab) {
		s.slow()
		b.do(click("#order [name=item]"), enter, s.arrived(1), enter)
		if !w.client() {
			b.do(s.arrived(2))
		}
		b.do(then(s.hurry), result)
		s.want(w.orders())
		if w.client() {
			s.wantSent(1, 1)
		}
	})
}

// Case 41: at once, and when the first is under way.
func TestSeveralHandlersThatSubmitAreOneOrder(t *testing.T) {
	t.Parallel()
	each(t, []way{unprotected, plainForm, guardedForm, ownForm, fetch}, func(t *testing.T, w way, s *site, b tab) {
		s.slow()
		again := `order.requestSubmit()`
		if w.client() {
			again += `; await fetch("/hurry")`
		}
		b.do(s.when(1, again), script(`order.requestSubmit(); order.requestSubmit()`))
		if !w.client() {
			b.do(s.arrived(2), then(s.hurry))
		}
		b.do(result)
		s.want(w.orders())
		if w.client() {
			s.wantSent(1, 1)
		}
	})
}
