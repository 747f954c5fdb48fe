package nebishttp

import (
	"database/sql"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nebis-dev/nebis"
)

func anyone(*http.Request) (string, error) { return nebis.Anyone, nil }

func nothing(http.ResponseWriter, *http.Request, *sql.Tx) error { return nil }

func TestAMalformedRouteIsReportedAtStartUp(t *testing.T) {
	m := &Middleware{}
	for name, f := range map[string]func(){
		"no store":        func() { New(nil, anyone, nil) },
		"no owner":        func() { New(new(nebis.Store), nil, nil) },
		"empty scope":     func() { m.Tx("", nothing, nil) },
		"long scope":      func() { m.Wrap(strings.Repeat("s", 65), nil) },
		"blank in scope":  func() { m.Tx("my order", nothing, nil) },
		"Set-Cookie":      func() { m.Tx("order", nothing, &Route{Headers: []string{"set-cookie"}}) },
		"negative keep":   func() { m.Tx("order", nothing, &Route{Keep: -1}) },
		"negative mark":   func() { m.Tx("order", nothing, &Route{KeepSeen: -1}) },
		"negative limit":  func() { m.Tx("order", nothing, &Route{MaxRequest: -1}) },
		"negative answer": func() { m.Tx("order", nothing, &Route{MaxAnswer: -1}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}

func TestARouteInheritsWhatItDoesNotSay(t *testing.T) {
	m := &Middleware{o: Options{Route: Route{Required: true, MaxAnswer: 7, Wait: 3, Ignore: []string{"a"}, Headers: []string{"x-a"}}}}
	rt := m.newRoute("order", &Route{Wait: 9, Ignore: []string{"b"}})
	if !rt.Required || rt.MaxAnswer != 7 || rt.Wait != 9 || rt.MaxRequest != 1<<20 || rt.Deadline != defaultDeadline ||
		!rt.digest.ignore["a"] || !rt.digest.ignore["b"] || !rt.replays("x-A") {
		t.Errorf("got %+v", rt.Route)
	}
}

func TestHowLongADuplicateWaits(t *testing.T) {
	person, program := post(urlencoded, "", "Accept", "text/html"), post(jsonType, "", "Accept", "text/html")
	if rt := testRoute(nil); rt.wait(person) != 25*time.Second || rt.wait(program) != 2*time.Second {
		t.Errorf("a person %v, a program %v", rt.wait(person), rt.wait(program))
	}
	for _, d := range []time.Duration{-1, 7} {
		if rt := testRoute(&Route{Wait: d}); rt.wait(person) != d || rt.wait(program) != d {
			t.Errorf("%d: a person %v, a program %v", d, rt.wait(person), rt.wait(program))
		}
	}
}
