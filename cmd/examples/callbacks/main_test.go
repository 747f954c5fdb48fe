package main

import (
	"io"
	"net/http"
	"sync"
	"testing"

	"github.com/nebis-dev/nebis/callback/callbacktest"
	"github.com/nebis-dev/nebis/cmd/internal/exampletest"
)

func TestTheDocsHaveThisProgram(t *testing.T) {
	exampletest.HasCode(t, exampletest.Source(t, "main.go"), "docs/callbacks.md", "docs/callbacks.zh-CN.md")
}

// Three callbacks and three customers at once, and all of it once more.
func TestTheProgramCompletesAnOrderOnce(t *testing.T) {
	sender, err := callbacktest.Epay(callbacktest.Keys{Account: "7", Secret: "s3cret"})
	if err != nil {
		t.Fatal(err)
	}
	base := exampletest.Start(t, "EPAY_PID=7", "EPAY_KEY=s3cret")
	for range 2 {
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() { send(t, sender, base+"/notify", "success") })
			all.Go(func() { send(t, sender, base+"/return", "paid, 88 points") })
		}
		all.Wait()
	}
	forger, err := callbacktest.Epay(callbacktest.Keys{Account: "7"})
	if err != nil {
		t.Fatal(err)
	}
	send(t, forger, base+"/notify", "fail")
	send(t, forger, base+"/return", "Thank you. Your payment is being checked; this page will show it.\n")
	send(t, sender, base+"/orders/1001", "paid, 88 points")
}

func send(t *testing.T, s *callbacktest.Sender, url, want string) {
	t.Helper()
	r, err := s.Request(url, callbacktest.Notice{Order: "1001", Amount: 8800})
	if err != nil {
		t.Error(err)
		return
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Error(err)
		return
	}
	defer res.Body.Close()
	if body, err := io.ReadAll(res.Body); err != nil || string(body) != want {
		t.Errorf("%s: %q (%v), want %q", url, body, err, want)
	}
}
