package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

// conf writes a configuration file.
func conf(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "nebis.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestMistakesInTheGatewaysConfiguration(t *testing.T) {
	good := conf(t, "upstream: http://127.0.0.1:1\nroutes:\n- match: POST /pay\n")
	bad := conf(t, "upstream: http://127.0.0.1:1\nroutes:\n- match: POST /pay\n  kepe: 24h\n")
	for _, c := range []struct {
		args         []string
		code         int
		stdout, says string
	}{
		{[]string{"gateway", "--help"}, 0, "--protect", ""},
		{[]string{"gateway"}, 2, "", "upstream: name the site"},
		{[]string{"gateway", "--upstream", "http://127.0.0.1:1"}, 2, "", "nothing to do"},
		{[]string{"gateway", "--upstream", "127.0.0.1:1", "--observe"}, 2, "", "upstream"},
		{[]string{"gateway", "--upstream", "http://127.0.0.1:1", "--protect", "post /x"}, 2, "", "--protect"},
		{[]string{"gateway", "--upstream", "http://127.0.0.1:1", "--addr", "x", "--observe"}, 2, "", "--addr"},
		{[]string{"gateway", "--upstream", "http://127.0.0.1:1", "--observe", "--metrics", ":9464"}, 2, "", "metrics: other machines reach this address"},
		{[]string{"gateway", "--upstream", "http://127.0.0.1:1", "--print-config", "--metrics", ":9464", "--metrics-public"}, 0, "metrics: \":9464\"\nmetrics_public: true\n", ""},
		{[]string{"gateway", "--config", "/nowhere/nebis.yaml"}, 2, "", "/nowhere/nebis.yaml"},
		{[]string{"gateway", "--config", bad}, 2, "", `nebis.yaml:4: routes[0].kepe: unknown field "kepe"`},
		{[]string{"gateway", "--config", bad, "--check-config"}, 2, "", "unknown field"},
		{[]string{"gateway", "--config", good, "--check-config"}, 0, "is right", ""},
		{[]string{"gateway", "--upstream", "http://127.0.0.1:1", "--protect", "POST /x", "--check-config"}, 0, "is right", "warning: POST /x: no page is named under forms"},
		{[]string{"gateway", "--upstream", "http://127.0.0.1:1", "--protect", "POTS /x", "--check-config"}, 2, "", `--protect: "POTS /x": "POTS" is none of`},
		{[]string{"gateway", "--config", good, "--print-config", "--addr", "127.0.0.1:9"}, 0, "addr: 127.0.0.1:9\nupstream: http://127.0.0.1:1\n", ""},
		{[]string{"gateway", "--upstream", "http://127.0.0.1:1", "--forms", "GET /x", "--db", "postgres://ann:s3cret@127.0.0.1:1/x"}, 1, "", "NEBIS_SECRET"},
	} {
		code, stdout, stderr := call(t, nil, c.args...)
		if code != c.code || !strings.Contains(stdout, c.stdout) || !strings.Contains(stderr, c.says) || strings.Contains(stdout+stderr, "s3cret") {
			t.Errorf("nebis %s: exit %d, wanted %d %q %q\nstdout: %s\nstderr: %s", strings.Join(c.args, " "), code, c.code, c.stdout, c.says, stdout, stderr)
		}
	}
}

func TestTheGatewaysFlagsGoBeforeTheEnvironment(t *testing.T) {
	file := conf(t, "addr: file:1\nupstream: http://file:1\ndb: sqlite:file.db\n")
	environment := map[string]string{"NEBIS_CONFIG": file, "NEBIS_ADDR": "env:1", "NEBIS_UPSTREAM": "http://env:1", "NEBIS_FORMS": "GET /a,GET /b"}
	code, stdout, stderr := call(t, environment, "gateway", "--print-config", "--addr", "flag:1")
	if want := "addr: flag:1\nupstream: http://env:1\ndb: sqlite:file.db\n"; code != 0 || !strings.HasPrefix(stdout, want) || !strings.Contains(stdout, `forms: ["GET /a", "GET /b"]`) && !strings.Contains(stdout, "forms: [GET /a, GET /b]") {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}
}

// A route is not let through unprotected by a gateway that cannot keep its keys.
func TestADatabaseThatIsAwayAtTheStartIsAnError(t *testing.T) {
	environment := map[string]string{"NEBIS_SECRET": "0123456789abcdef"}
	code, stdout, stderr := call(t, environment, "gateway", "--upstream", "http://127.0.0.1:1", "--addr", "127.0.0.1:0",
		"--db", "postgres://ann:secret@127.0.0.1:1/shop", "--protect", "POST /pay")
	if code != 1 || stdout != "" || !strings.Contains(stderr, "postgres://ann@127.0.0.1:1/shop") || strings.Contains(stderr, "secret") {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}
}

func TestTheGatewayObservesUntilItIsStopped(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }))
	defer site.Close()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out, in := io.Pipe()
	var stderr bytes.Buffer
	ended := make(chan int, 1)
	environment := map[string]string{"NEBIS_OBSERVE": "1", "NEBIS_UPSTREAM": site.URL, "NEBIS_ADDR": "127.0.0.1:0", "LANG": "zh_CN.UTF-8"}
	go func() {
		ended <- run(ctx, []string{"gateway"}, func(n string) string { return environment[n] }, in, &stderr)
		in.Close()
	}()
	stdout := bufio.NewReader(out)
	line, _ := stdout.ReadString('\n')
	base, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if !ok {
		t.Fatalf("it says %q", line)
	}
	for range 2 {
		res, err := http.Post(base+"/checkout", "text/plain", strings.NewReader("x"))
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
	}
	stop()
	told, _ := io.ReadAll(stdout)
	if code := <-ended; code != 0 || !strings.Contains(string(told), "--protect 'POST /checkout'") || !strings.Contains(string(told), "重复") {
		t.Errorf("exit %d\n%s\n%s", code, told, &stderr)
	}
}

// formSite has a form that somebody wrote without a thought of repeats.
type formSite struct{ orders atomic.Int64 }

func (s *formSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		s.orders.Add(1)
		http.Redirect(w, r, "/done", http.StatusSeeOther)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = io.WriteString(w, `<!doctype html><form method=post action=/order.php?do=buy><input name=item value=tea></form>`)
}

// doubleClick sends the form of a page twice, as a browser would: with its cookies,
// its fields and the page it came from.
func doubleClick(t *testing.T, base, page string) {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Get(base + page)
	if err != nil {
		t.Fatal(err)
	}
	html, _ := io.ReadAll(res.Body)
	res.Body.Close()
	fields := url.Values{"item": {"tea"}}
	if m := regexp.MustCompile(`name="idempotency_key" value="([^"]+)"`).FindSubmatch(html); m != nil {
		fields.Set("idempotency_key", string(m[1]))
	}
	for range 2 {
		req, err := http.NewRequest(http.MethodPost, base+"/order.php?do=buy", strings.NewReader(fields.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{"User-Agent": {"Mozilla/5.0"}, "Accept": {"text/html"}, "Referer": {base + page},
			"Content-Type": {"application/x-www-form-urlencoded"}}
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
	}
}

// What observing proposes, taken as it stands, stops what was observed.
func TestTheProposalOfObservingStopsWhatWasObserved(t *testing.T) {
	s := &formSite{}
	site := httptest.NewServer(s)
	defer site.Close()
	args := []string{"gateway", "--addr", "127.0.0.1:0", "--upstream", site.URL, "--db", "sqlite:" + filepath.Join(t.TempDir(), "keys.db")}
	p := startWith(t, nil, append(args, "--observe")...)
	p.listening()
	doubleClick(t, p.base, "/cart.php?step=pay&id=7")
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	told, _ := io.ReadAll(p.stdout)
	if err := p.cmd.Wait(); err != nil || s.orders.Load() != 2 {
		t.Fatalf("%v, %d orders\n%s", err, s.orders.Load(), told)
	}
	proposal := regexp.MustCompile(`(?m)^ *(--protect .*)$`).FindSubmatch(told)
	if proposal == nil {
		t.Fatalf("nothing is proposed:\n%s", told)
	}
	for _, part := range regexp.MustCompile(`(--\w+) '([^']*)'`).FindAllStringSubmatch(string(proposal[1]), -1) {
		args = append(args, part[1], part[2])
	}
	p = startWith(t, []string{"NEBIS_SECRET=0123456789abcdef"}, args...)
	p.listening()
	doubleClick(t, p.base, "/cart.php?step=pay&id=8")
	if got := s.orders.Load() - 2; got != 1 {
		t.Errorf("%d orders with %q", got, args)
	}
}

func TestSIGTERMFinishesTheRequestThatRuns(t *testing.T) {
	arrived, leave := make(chan bool), make(chan bool)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		arrived <- true
		<-leave
		_, _ = io.WriteString(w, "done")
	}))
	defer site.Close()
	p := startWith(t, []string{"NEBIS_SECRET=0123456789abcdef"}, "gateway", "--addr", "127.0.0.1:0", "--upstream", site.URL, "--forms", "GET /checkout*")
	p.listening()
	answered := make(chan string, 1)
	go func() {
		res, err := http.Post(p.base+"/pay", "text/plain", strings.NewReader("x"))
		if err != nil {
			answered <- err.Error()
			return
		}
		defer res.Body.Close()
		text, _ := io.ReadAll(res.Body)
		answered <- string(text)
	}()
	<-arrived
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	close(leave)
	if got := <-answered; got != "done" {
		t.Errorf("the request that ran was answered with %s", got)
	}
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("it ended with %v; %s", err, &p.stderr)
	}
}
