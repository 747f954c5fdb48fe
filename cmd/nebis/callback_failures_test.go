package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/nebis-dev/nebis/callback"
	"github.com/nebis-dev/nebis/callback/callbacktest"
	"github.com/nebis-dev/nebis/cmd/internal/dburl/dburltest"
)

// A notifiable is a shop whose printer is on fire.
type notifiable struct {
	*keyed
	err error
}

func newNotifiable(t *testing.T, url string) *notifiable {
	t.Helper()
	n := &notifiable{keyed: newKeyed(t, url, ""), err: errors.New("the printer is \x1b[31mon fire")}
	if err := callback.Migrate(t.Context(), n.db, n.store); err != nil {
		t.Fatal(err)
	}
	return n
}

// gets a notice of a provider's, and answers so.
func (n *notifiable) gets(provider, order string, status int) {
	n.t.Helper()
	sender, err := callbacktest.Makers[provider](callbacktest.Keys{Secret: "s3cret"})
	if err != nil {
		n.t.Fatal(err)
	}
	r, err := sender.Request("http://site.test/", callbacktest.Notice{Order: order})
	if err != nil {
		n.t.Fatal(err)
	}
	if r.Body == nil {
		r.Body = http.NoBody
	}
	w := httptest.NewRecorder()
	callback.Handler(n.store, sender.Provider, func(context.Context, *sql.Tx, callback.Event) error { return n.err },
		&callback.Options{Log: slog.New(slog.NewTextHandler(io.Discard, nil))}).ServeHTTP(w, r)
	if w.Code != status {
		n.t.Fatalf("the notice was answered %d, want %d", w.Code, status)
	}
}

func (n *notifiable) failures(code int, more ...string) (list []failureView) {
	n.t.Helper()
	got, stdout, stderr := n.call(append([]string{"callback", "failures", "--json"}, more...)...)
	if err := json.Unmarshal([]byte(stdout), &list); err != nil || got != code || stderr != "" {
		n.t.Fatalf("exit %d, want %d, %v, %s%s", got, code, err, stdout, stderr)
	}
	return list
}

func TestCallbackFailuresOnEveryDatabase(t *testing.T) {
	dburltest.Everywhere(t, func(t *testing.T, url string) {
		n := newNotifiable(t, url)
		n.want(0, "no failures", "callback", "failures")
		n.gets("stripe", "1", 500)
		n.gets("stripe", "1", 500)
		n.gets("epay", "2", 500)
		if list := n.failures(1); len(list) != 2 || list[0].Order != "2" || list[1].Attempts != 2 || list[1].Last.Before(list[1].First) || !strings.Contains(list[1].Error, "on fire") {
			t.Errorf("%+v", list)
		}
		n.err = nil
		n.gets("epay", "2", 200)
		if list := n.failures(1); len(list) != 2 || list[0].Order != "1" || !list[0].Done.IsZero() || list[1].Done.IsZero() {
			t.Errorf("the open one is not first: %+v", list)
		}
		if list := n.failures(1, "--limit", "1"); len(list) != 1 || list[0].Order != "1" {
			t.Errorf("%+v", list)
		}
		if list := n.failures(0, "--provider", "epay"); len(list) != 1 || list[0].Attempts != 1 {
			t.Errorf("%+v", list)
		}
		n.gets("stripe", "1", 200)
		n.want(0, "0 open, 2 done since", "callback", "failures")
		n.want(0, "There may be more", "callback", "failures", "--limit", "2")
	})
}

func TestCallbackFailuresForPeople(t *testing.T) {
	n := newNotifiable(t, dburltest.SQLite(t))
	n.gets("stripe", "1001", 500)
	code, stdout, stderr := n.call("callback", "failures")
	for _, says := range []string{"PROVIDER", "stripe", "1001", "N-P1001-paid", "open", "on fire", "1 open, 0 done since"} {
		if !strings.Contains(stdout, says) {
			t.Errorf("%q is missing in %s", says, stdout)
		}
	}
	if code != 1 || stderr != "" || strings.Contains(stdout, "\x1b") {
		t.Errorf("exit %d, %q %q", code, stdout, stderr)
	}
}

func TestCallbackFailuresThatCannotBeSeen(t *testing.T) {
	k := newKeyed(t, dburltest.SQLite(t), "")
	k.want(2, "nebis migrate up --for callback", "callback", "failures")
	k.want(2, "--limit", "callback", "failures", "--limit", "0")
	k.want(2, "--table", "callback", "failures", "--table", "a b")
	if code, _, stderr := call(t, nil, "callback", "failures"); code != 2 || !strings.Contains(stderr, "NEBIS_DB") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}
