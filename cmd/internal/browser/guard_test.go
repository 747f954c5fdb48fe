package browser

import (
	"fmt"
	"testing"
)

const (
	busy = `order.ariaBusy == "true"`
	idle = `order.ariaBusy == null`
)

func TestTheGuardIsOnWhileTheRequestIsUnderWay(t *testing.T) {
	t.Parallel()
	each(t, []way{guardedForm, ownForm}, func(t *testing.T, _ way, s *site, b tab) {
		s.slow()
		b.do(s.when(1, `const button = document.activeElement
			sessionStorage.note = [order.ariaBusy, button.value, button.disabled, button.matches(":focus")]
			await fetch("/hurry")`), order, result)
		if got := b.eval("sessionStorage.note"); got != "true,now,false,true" {
			t.Errorf("busy, the button that has the focus, disabled, focus: %s", got)
		}
		b.do(back(), until(idle))
	})
}

func TestASecondSubmitReachesNoHandlerOfThePage(t *testing.T) {
	t.Parallel()
	each(t, []way{guardedForm, ownForm}, func(t *testing.T, _ way, s *site, b tab) {
		s.slow()
		b.do(script(`sessionStorage.note = ""; order.onsubmit = () => { sessionStorage.note += "heard " }`),
			s.when(1, `order.requestSubmit(); await fetch("/hurry")`), order, result)
		if got := b.eval("sessionStorage.note"); got != "heard " {
			t.Errorf("the page has %s", got)
		}
	})
}

func TestTheGuardLetsGoAfterATimeAndTheKeyStays(t *testing.T) {
	t.Parallel()
	each(t, []way{guardedForm, ownForm}, func(t *testing.T, _ way, s *site, b tab) {
		s.slow()
		b.do(script(`order.dataset.nebisTimeout = 1`), s.when(1, fmt.Sprintf(`while (!(%s)) await new Promise(go => setTimeout(go))
			document.querySelector("#order button").click()`, idle)), order, s.arrived(2), then(s.hurry), result)
		s.want(1)
		s.wantSent(2, 1)
	})
}

func TestASubmitThatAValidationHasStoppedLeavesNoTrace(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]string{
		"by a handler of the form":  `order.addEventListener("submit", event => event.preventDefault(), {once: true})`,
		"by a handler of all forms": `document.addEventListener("submit", event => event.preventDefault(), {once: true, capture: true})`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, b := start(t, browser(t), guardedForm)
			key := b.key()
			b.do(script(stop), order)
			if got := b.eval(`new Promise(go => setTimeout(() => go(order.ariaBusy + " " + order.elements.idempotency_key.value)))`); got != "null "+key {
				t.Errorf("after the stop: %s, the key was %s", got, key)
			}
			b.do(order, result)
			s.want(1)
			s.wantSent(1, 1)
		})
	}
}

func TestAHandlerThatAsksAndThenSubmitsIsHeard(t *testing.T) {
	t.Parallel()
	s, b := start(t, browser(t), guardedForm)
	b.do(script(`order.addEventListener("submit", event => {
		event.preventDefault()
		setTimeout(() => order.requestSubmit())
	}, {once: true})`), order, result)
	s.want(1)
	s.wantSent(1, 1)
}

func TestTwoCopiesOfTheScriptDoNotBlockEachOther(t *testing.T) {
	t.Parallel()
	s, b := start(t, browser(t), guardedForm)
	s.slow()
	b.do(load(moduleURL(s)), twice(s.arrived(1)), then(s.hurry), result)
	s.want(1)
	s.wantSent(1, 1)
}
