package browser

import (
	"testing"

	"github.com/chromedp/chromedp"
)

const cannotTell = "We cannot tell whether this was done"

// Cases 40 and 41, for sites that know nothing of it.
func TestADoubleClickBehindTheGatewayIsOneOrder(t *testing.T) {
	t.Parallel()
	doors := []door{php, flow, python, node, php.scriptsOff(), php.withoutGateway()}
	behind(t, doors, func(_ *testing.T, s *shopper) {
		s.shop.Payment.Hold()
		s.do(twice(s.paying(1)), s.pay(), bought)
		if s.open {
			s.do(s.paying(2))
		}
		s.shop.Want(s.orders())
	})
}

// Case 42.
func TestBackAndSubmitUnchangedBehindTheGateway(t *testing.T) {
	t.Parallel()
	behind(t, []door{php, flow, php.scriptsOff(), php.withoutGateway()}, func(t *testing.T, s *shopper) {
		s.do(order, bought)
		first := s.title()
		s.do(back(), order, bought)
		if again := s.title(); (again == first) == s.open {
			t.Errorf("first %q, then %q", first, again)
		}
		s.shop.Want(s.orders())
	})
}

// Case 42: a new order, or a page that offers to make it one.
func TestBackEditAndSubmitBehindTheGateway(t *testing.T) {
	t.Parallel()
	behind(t, []door{php, php.scriptsOff()}, func(_ *testing.T, s *shopper) {
		s.do(order, bought, back(), fill(way{noScripts: s.noScripts}, "coffee"), order)
		if s.noScripts {
			s.do(says("This form has been used"))
			s.shop.Want(1)
			s.do(click("form button"))
		}
		s.do(says("Order 2"))
		s.shop.Want(2)
	})
}

// Case 58. Who comes back to the form and sends it again gets what was finished.
func TestAPersonWhoGoesAwayBehindTheGatewayHasBought(t *testing.T) {
	t.Parallel()
	behind(t, []door{php, php.scriptsOff()}, func(_ *testing.T, s *shopper) {
		s.shop.Payment.Hold()
		s.do(order, s.paying(1), chromedp.Navigate("about:blank"), s.pay())
		s.do(back(), order, says("Order 1"), until(`document.body.textContent.includes("receipt 1")`))
		s.shop.Want(1)
	})
}

// The shop's code fails with the order written: nobody can tell whether it counts.
// The person looks, and sends it again: by chance, which does nothing, and on purpose.
//
// Without a script nobody knows of a form that is loaded anew that it was sent before,
// and Chromium keeps no page whose form leads to its own address.
func TestAFatalErrorBehindTheGatewayLeadsToAPageToActOn(t *testing.T) {
	t.Parallel()
	behind(t, []door{php, flow, python, node, php.scriptsOff()}, func(_ *testing.T, s *shopper) {
		s.shop.Payment.Break(true)
		s.do(order, says(cannotTell))
		s.shop.Payment.Break(false)
		s.shop.Restart() // Node ends with such an error, and a supervisor starts it again
		s.do(reloaded(), says(cannotTell))
		if !s.noScripts {
			s.do(click("p a"), says("Your orders"), click("li a"), says("Order 1"), backBy(3), order, says(cannotTell))
		}
		s.shop.Want(1)
		s.do(click("form button"), says("Order 2"))
		s.shop.Want(2)
	})
}
