package main

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/nebis-dev/nebis/cmd/internal/dburl/dburltest"
)

func TestFindingsArePosted(t *testing.T) {
	var got []string
	answer := `{"errcode":0}`
	status := http.StatusOK
	robot := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got = append(got, string(body))
		w.WriteHeader(status)
		_, _ = w.Write([]byte(answer))
	}))
	defer robot.Close()
	k := newKeyed(t, dburltest.SQLite(t), "")
	post := func(code int, says, errs string, args ...string) {
		t.Helper()
		got = nil
		c, stdout, stderr := k.call(append([]string{"check", "--notify", robot.URL + "/send?key=s3cret"}, args...)...)
		posted := strings.Join(got, "\n")
		if c != code || !strings.Contains(posted, says) || (says == "") != (posted == "") || !strings.Contains(stderr, errs) || (errs == "") != (stderr == "") {
			t.Errorf("%q: exit %d, posted %q, stderr %q", args, c, posted, stderr)
		}
		if strings.Contains(stdout+stderr, "s3cret") {
			t.Errorf("the address is told: %s%s", stdout, stderr)
		}
	}
	post(0, "", "")
	k.lease("ann", "k", errors.New("the line broke"))
	post(1, `"code":"unknown"`, "")
	post(1, `{"msgtype":"text","text":{"content":"nebis check WARNING: unknown`, "", "--notify-as", "wecom")
	post(1, `{"msgtype":"text","text":{"content":"nebis check WARNING: unknown`, "", "--notify-as", "dingtalk")
	post(1, `{"text":"nebis check WARNING: unknown`, "", "--notify-as", "slack")
	post(2, `"error":"database`, "", "--db", "sqlite:/nowhere/at/all.db")
	answer = `{"errcode":93000,"errmsg":"invalid webhook url"}`
	post(1, "unknown", "refuses it: errcode 93000", "--notify-as", "wecom")
	status = http.StatusBadGateway
	post(1, "unknown", "502", "--notify-as", "slack")
	robot.Close()
	post(1, "", "refused")
}
