package gateway

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

func TestACallbackByGETIsAcknowledgedAlikeEachTime(t *testing.T) {
	n := 0
	p := protect(t, "owner: none\nroutes:\n- match: GET /notify\n  kind: callback\n  key: query:trade_no\n  success: {body: success}\n",
		func(w http.ResponseWriter, _ *http.Request) {
			n++
			_, _ = io.WriteString(w, []string{"", "fail", "success"}[n])
		})
	for i, want := range []string{"released fail", "created success", "replayed success"} {
		r := p.get(fmt.Sprintf("/notify?trade_no=7&time=%d", i))
		if got := r.Header.Get("Idempotency-Status") + " " + r.body; got != want {
			t.Errorf("%d: %s, want %s", i, got, want)
		}
	}
}

func TestAStreamOfEventsFromAProtectedWriteIsNotHeldBack(t *testing.T) {
	told := make(chan bool)
	p := protect(t, route, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: 1\n\n")
		_ = http.NewResponseController(w).Flush()
		<-told
		_, _ = io.WriteString(w, "data: 2\n\n")
	})
	req, _ := http.NewRequestWithContext(t.Context(), "POST", p.url+"/checkout", strings.NewReader("idempotency_key=k"))
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	first := make([]byte, 9)
	if _, err := io.ReadFull(res.Body, first); err != nil || string(first) != "data: 1\n\n" {
		t.Errorf("%q %v", first, err)
	}
	close(told)
	if rest, _ := io.ReadAll(res.Body); string(rest) != "data: 2\n\n" {
		t.Errorf("%q", rest)
	}
	p.want(p.send("POST", "/checkout", "idempotency_key=k", formType), 410, "not-kept")
}

// An answer without a length is kept all the same.
func TestAChunkedAnswerIsReplayed(t *testing.T) {
	p := protect(t, route, func(w http.ResponseWriter, _ *http.Request) {
		for range 3 {
			_, _ = io.WriteString(w, "thanks ")
			_ = http.NewResponseController(w).Flush()
		}
	})
	for _, want := range []string{"created", "replayed"} {
		r := p.send("POST", "/checkout", "idempotency_key=k", formType)
		p.want(r, 200, want)
		if r.body != "thanks thanks thanks " {
			t.Error(r.body)
		}
	}
}

func TestALargeUploadPassesAndItsKeyIsFoundAtItsBeginning(t *testing.T) {
	var size atomic.Int64
	p := protect(t, route+"  max_body: 1KiB\n  required: true\n", func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		size.Store(n)
		ordered(w, r)
	})
	big := strings.Repeat("x", 1<<20)
	p.want(p.send("POST", "/checkout", "idempotency_key=k&photo="+big, formType), 303, "created")
	if size.Load() != int64(len(big))+24 {
		t.Errorf("%d bytes have come", size.Load())
	}
	p.want(p.send("POST", "/checkout", "idempotency_key=k&photo="+big, formType), 303, "replayed")
	p.want(p.send("POST", "/checkout", "photo="+big+"&idempotency_key=k", formType), 400, "invalid")
	cut := "photo=" + big[:1<<10-27] + "&idempotency_key=abcdef" // three letters of it are within
	p.want(p.send("POST", "/checkout", cut, formType), 400, "invalid")
	p.wantRuns(1)
}

// Case 34: two gateways on one database, fifty from each.
func TestTwoGatewaysOnOneDatabaseLetOneThrough(t *testing.T) {
	for _, c := range dbtest.Each() {
		t.Run(c.Name, func(t *testing.T) {
			conf := route + "  wait: 5m\n"
			p := protectOn(t, c, conf, ordered)
			other := frontOf(t, siteOf(p), conf, Options{Guard: guardOn(t, newStore(t, c, p.db), siteOf(p), conf)})
			replies := make(chan reply, 100)
			for i := range cap(replies) {
				go func() {
					replies <- []*rig{p.rig, other}[i%2].send("POST", "/checkout", "idempotency_key=k", formType)
				}()
			}
			for range cap(replies) {
				if r := <-replies; r.StatusCode != 303 || r.Header.Get("Location") != "/orders/7" {
					t.Errorf("%d %s", r.StatusCode, r.body)
				}
			}
			p.wantRuns(1)
		})
	}
}

// siteOf is the address of the site behind a gateway.
func siteOf(p *protected) string { return p.g.conf.Upstream }
