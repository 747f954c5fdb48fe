package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nebis-dev/nebis/cmd/internal/dburl/dburltest"
	"github.com/nebis-dev/nebis/outbox"
)

// A mailroom is a program with an outbox, whose other side fails for good until it
// is mended.
type mailroom struct {
	*keyed
	box    *outbox.Outbox
	events chan outbox.Event
	mended atomic.Bool
	undone atomic.Int32
}

func newMailroom(t *testing.T, url string) *mailroom {
	t.Helper()
	db, target := dburltest.Open(t, url)
	m := &mailroom{keyed: &keyed{t: t, url: url, db: db}, events: make(chan outbox.Event, 100)}
	var err error
	m.box, err = outbox.New(m.db, target.Dialect, &outbox.Options{
		Poll:    50 * time.Millisecond, // the commands are another program
		Observe: func(_ context.Context, e outbox.Event) { m.events <- e },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.box.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	send := func(context.Context, *outbox.Job) (any, error) {
		if m.mended.Load() {
			return "s3cret result", nil
		}
		return nil, outbox.Permanent(errors.New("no such \x1b[31maccount"))
	}
	undo := func(context.Context, *sql.Tx, *outbox.Job) error { m.undone.Add(1); return nil }
	m.box.Handle("charge", outbox.Call{Do: send, Compensate: undo})
	m.box.Handle("mail", outbox.Call{Do: send})
	return m
}

func (m *mailroom) add(name string) (id int64) {
	m.t.Helper()
	tx, err := m.db.BeginTx(m.t.Context(), nil)
	if err != nil {
		m.t.Fatal(err)
	}
	defer tx.Rollback()
	if id, err = m.box.Add(m.t.Context(), tx, name, "s3cret payload"); err != nil {
		m.t.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		m.t.Fatal(err)
	}
	return id
}

// works runs a worker until a call has come to a state.
func (m *mailroom) works(id int64, until outbox.State) {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(m.t.Context(), 2*time.Minute)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- m.box.Run(ctx) }()
	for {
		select {
		case e := <-m.events:
			if e.ID == id && e.State == until {
				cancel()
				<-ended
				return
			}
		case err := <-ended:
			m.t.Fatalf("call %d has not become %s: %v", id, until, err)
		}
	}
}

// calls returns what list --json says.
func (m *mailroom) calls(more ...string) (list []callView) {
	m.t.Helper()
	code, stdout, stderr := m.call(append([]string{"outbox", "list", "--json"}, more...)...)
	if err := json.Unmarshal([]byte(stdout), &list); err != nil || code != 0 {
		m.t.Fatalf("exit %d, %v, %s%s", code, err, stdout, stderr)
	}
	return list
}

func TestAPersonLooksAfterAnOutboxOnEveryDatabase(t *testing.T) {
	dburltest.Everywhere(t, func(t *testing.T, url string) {
		m := newMailroom(t, url)
		m.want(0, "no calls", "outbox", "list")
		charge := m.add("charge")
		m.works(charge, outbox.Compensated)
		if list := m.calls("--state", "compensated"); len(list) != 1 || list[0].ID != charge || list[0].Compensations != 1 || m.undone.Load() != 1 {
			t.Errorf("undone %d times, the list is %+v", m.undone.Load(), list)
		}
		m.want(0, "CHANGED (UTC)", "outbox", "list")
		if _, stdout, _ := m.call("outbox", "list"); strings.Contains(stdout, " UTC ") {
			t.Errorf("a time with its zone, which the header says: %s", stdout)
		}
		m.want(0, "failed for good, and its compensation has run", "outbox", "show", fmt.Sprint(charge))
		mail := m.add("mail")
		m.works(mail, outbox.Dead)
		id := fmt.Sprint(mail)
		m.want(0, "dead", "outbox", "list", "--name", "mail", "--before", fmt.Sprint(mail+1))
		m.want(0, "dead: waits for a person", "outbox", "show", id)
		m.want(0, "dead → pending", "outbox", "retry", id, "--reason", "银行 is back 😀")
		m.want(0, "pending → dead", "outbox", "park", id, "--reason", "not yet")
		m.want(0, `"after": "compensating"`, "outbox", "compensate", id, "--reason", "cancelled", "--json")
		m.works(mail, outbox.Dead) // there is no compensation for it
		m.want(0, "dead → pending", "outbox", "retry", id, "--reason", "it's mended")
		m.mended.Store(true)
		m.works(mail, outbox.Done)
		m.want(1, "is done: nebis outbox retry does nothing", "outbox", "retry", id, "--reason", "once more")
		m.shows(id)
	})
}

// shows wants the whole story of a call, its contents only where they are asked for.
func (m *mailroom) shows(id string) {
	m.t.Helper()
	code, stdout, _ := m.call("outbox", "show", id, "--json")
	var v callView
	if err := json.Unmarshal([]byte(stdout), &v); err != nil || code != 0 || strings.Contains(stdout, "s3cret") {
		m.t.Fatalf("exit %d, %v, %s", code, err, stdout)
	}
	var story []string
	for _, d := range v.Decisions {
		if d.By == "" || d.At.IsZero() {
			m.t.Errorf("decision %+v", d)
		}
		story = append(story, d.Action+" "+d.Before+" "+d.After+" "+d.Reason)
	}
	want := []string{"retry dead pending 银行 is back 😀", "park pending dead not yet", "compensate dead compensating cancelled", "retry dead pending it's mended"}
	if strings.Join(story, "|") != strings.Join(want, "|") {
		m.t.Errorf("decisions %q", story)
	}
	for _, args := range [][]string{{"--full"}, {"--full", "--json"}} {
		_, stdout, _ := m.call(append([]string{"outbox", "show", id}, args...)...)
		if !strings.Contains(stdout, "s3cret payload") || !strings.Contains(stdout, "s3cret result") {
			m.t.Errorf("%v: %s", args, stdout)
		}
	}
}

func TestTheOutboxCommandsRefuseMistakes(t *testing.T) {
	m := newMailroom(t, dburltest.SQLite(t))
	mail := m.add("mail")
	m.works(mail, outbox.Dead)
	m.want(2, "say what to do", "outbox")
	m.want(2, "there is no command", "outbox", "lst")
	m.want(2, "--state", "outbox", "list", "--state", "lost")
	m.want(2, "--limit", "outbox", "list", "--limit", "0")
	m.want(2, "id of one call", "outbox", "show")
	m.want(2, "not the id", "outbox", "show", "x")
	m.want(2, "--reason", "outbox", "retry", fmt.Sprint(mail), "--reason", " ")
	m.want(2, "--table", "outbox", "list", "--table", "a b")
	m.want(1, "there is no call 999", "outbox", "show", "999")
	m.want(1, "there is no call 999", "outbox", "park", "999", "--reason", "why")
	m.want(1, "no such table", "outbox", "list", "--table", "other")
	if _, stdout, _ := m.call("outbox", "list"); strings.Contains(stdout, "\x1b") {
		t.Errorf("what the other side said reaches the terminal: %q", stdout)
	}
	if _, err := m.db.Exec("CREATE TABLE outbox_audit (id INTEGER)"); err != nil { // somebody else's
		t.Fatal(err)
	}
	m.want(1, "outbox_audit", "outbox", "retry", fmt.Sprint(mail), "--reason", "why")
	if list := m.calls(); list[0].State != outbox.Dead {
		t.Errorf("without a record the call became %s", list[0].State)
	}
}
