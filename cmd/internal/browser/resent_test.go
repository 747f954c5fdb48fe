package browser

import (
	"bytes"
	"sync/atomic"
	"testing"

	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

// A connection that was used before is closed without an answer, and the browser
// sends the order again by itself. PHP's own server lets no connection be used again.
func TestAnOrderThatTheBrowserSendsAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cut   func(*shopper)
		doors []door
	}{
		"while the shop works":       {(*shopper).cutAtWork, []door{php, python, node, node.withoutGateway()}},
		"with the answer on its way": {(*shopper).cutAnswer, []door{php, php.scriptsOff()}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for i := range c.doors {
				c.doors[i] = c.doors[i].onALine()
			}
			behind(t, c.doors, func(t *testing.T, s *shopper) {
				posts := s.posts()
				c.cut(s)
				s.do(bought)
				s.shop.Want(s.orders())
				if n := posts.Load(); n != 2 {
					t.Errorf("the browser has sent the order %d times", n)
				}
			})
		})
	}
}

var post = []byte("POST ")

// posts counts what the browser sends.
func (s *shopper) posts() *atomic.Int64 {
	var n atomic.Int64
	s.cut.Set(dbtest.Hold, func(packet []byte) bool {
		if bytes.HasPrefix(packet, post) {
			n.Add(1)
		}
		return false
	})
	return &n
}

func (s *shopper) cutAtWork() {
	s.shop.Payment.Hold()
	s.do(order, s.paying(1), then(s.cut.CutAll))
	if s.open {
		s.do(s.paying(2))
	}
	s.shop.Payment.Release()
}

func (s *shopper) cutAnswer() {
	s.cut.Set(dbtest.CutAfter, func(packet []byte) bool { return bytes.HasPrefix(packet, post) })
	s.do(order)
}
