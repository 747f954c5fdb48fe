package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nebis-dev/nebis/cmd/internal/dburl/dburltest"
)

// TestMain is the program itself where a test has started it as a process.
func TestMain(m *testing.M) {
	switch os.Getenv("NEBIS_TEST_BE_NEBIS") {
	case "1":
		main()
	case "doors":
		log.Fatal(doorsOnly())
	}
	os.Exit(m.Run())
}

// process is the program, mostly as the demo, that runs in a process of its own.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdout *bufio.Reader
	stderr bytes.Buffer
	base   string
}

func start(t *testing.T, dbURL string) *process {
	t.Helper()
	return startWith(t, []string{"NEBIS_DB=" + dbURL}, "demo", "--addr", "127.0.0.1:0")
}

// startWith starts any command of the program.
func startWith(t *testing.T, environment []string, args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command(os.Args[0], args...)}
	p.cmd.Env = append(append(p.cmd.Environ(), "NEBIS_TEST_BE_NEBIS=1"), environment...)
	p.cmd.Stderr = &p.stderr
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.stdout = bufio.NewReader(stdout)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.cmd.Process.Kill() })
	return p
}

// listening waits until the demo can be used.
func (p *process) listening() {
	p.t.Helper()
	line, err := p.stdout.ReadString('\n')
	base, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if err != nil || !ok {
		p.cmd.Wait()
		p.t.Fatalf("the demo says %q, %v; %s", line, err, &p.stderr)
	}
	p.base = base
}

// stop asks the demo to stop, as systemd does, and wants it to end well.
func (p *process) stop() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
	if err := p.cmd.Wait(); err != nil {
		p.t.Errorf("the demo ended with %v; %s", err, &p.stderr)
	}
}

// order sends one order and tells where its answer leads and what it says.
func (p *process) order(key, body string) string {
	for {
		req, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, p.base+"/api/orders", strings.NewReader(body))
		if err != nil {
			return err.Error()
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Idempotency-Key", key)
		status, header, text := p.send(req)
		if status != http.StatusConflict || header.Get("Idempotency-Status") != "in-progress" {
			return fmt.Sprint(status, " ", header.Get("Location"), " ", text)
		}
		time.Sleep(50 * time.Millisecond) // less than Retry-After: a test is impatient
	}
}

func (p *process) submit(key string) string {
	fields := url.Values{"idempotency_key": {key}, "item": {"tea"}, "qty": {"1"}, "delay_ms": {"200"}}
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, p.base+"/orders", strings.NewReader(fields.Encode()))
	if err != nil {
		return err.Error()
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "text/html")
	status, header, _ := p.send(req)
	return fmt.Sprint(status, " ", header.Get("Location"))
}

func (p *process) send(req *http.Request) (int, http.Header, string) {
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return 0, http.Header{}, err.Error()
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, http.Header{}, err.Error()
	}
	return res.StatusCode, res.Header, string(body)
}

func TestTwoProcessesOnOneDatabaseTakeFiftyEachAsOneOrder(t *testing.T) {
	dburltest.Everywhere(t, func(t *testing.T, dbURL string) {
		// Both open the new database at once.
		a, b := start(t, dbURL), start(t, dbURL)
		a.listening()
		b.listening()
		api := atOnce(100, func(i int) string {
			return []*process{a, b}[i%2].order("api", `{"item":"tea","qty":1,"delay_ms":200}`)
		})
		form := atOnce(100, func(i int) string { return []*process{a, b}[i%2].submit("form") })
		for answer, n := range api {
			if len(api) != 1 || !strings.HasPrefix(answer, "201 /api/orders/") {
				t.Errorf("API: %d times %s", n, answer)
			}
		}
		for answer, n := range form {
			if len(form) != 1 || !strings.HasPrefix(answer, "303 /orders/") {
				t.Errorf("form: %d times %s", n, answer)
			}
		}
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, a.base+"/api/orders?limit=0", nil)
		if _, _, body := b.send(req); strings.TrimSpace(body) != `{"orders":[],"count":2}` {
			t.Errorf("in the end: %s", body)
		}
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		a.stop()
		b.stop()
	})
}

// atOnce calls send n times in parallel and counts the different answers.
func atOnce(n int, send func(i int) string) map[string]int {
	answers := map[string]int{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			answer := send(i)
			mu.Lock()
			defer mu.Unlock()
			answers[answer]++
		})
	}
	all.Wait()
	return answers
}

func TestSIGTERMFinishesTheOrderThatRuns(t *testing.T) {
	p := start(t, dburltest.SQLite(t))
	p.listening()
	answered := make(chan string, 1)
	go func() { answered <- p.order("k", `{"item":"tea","qty":1,"delay_ms":1000}`) }()
	p.untilArrived()
	p.stop()
	if got := <-answered; !strings.HasPrefix(got, "201 /api/orders/1 ") {
		t.Errorf("the order that ran was answered with %s", got)
	}
}

// untilArrived waits until the demo has got a request to its protected form: the
// page of orders counts it.
func (p *process) untilArrived() {
	for {
		req, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, p.base+"/orders", nil)
		if err != nil {
			p.t.Fatal(err)
		}
		if _, _, page := p.send(req); strings.Contains(page, "<b>1</b> request ") {
			return
		}
	}
}

func TestTheProgramNeedsNoCgo(t *testing.T) {
	list := exec.Command("go", "list", "-deps", "-f", "{{if and .CgoFiles (not .Standard)}}{{.ImportPath}}{{end}}", ".")
	list.Env = append(list.Environ(), "CGO_ENABLED=1")
	out, err := list.CombinedOutput()
	if err != nil || len(bytes.TrimSpace(out)) > 0 {
		t.Errorf("it is made with cgo by %s, %v", out, err)
	}
}
