package shop

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/nebis-dev/nebis/cmd/internal/dburl/dburltest"
)

// openShop makes a shop with its tables.
func openShop(t *testing.T, dbURL string) *Shop {
	t.Helper()
	s := newShop(t, dbURL)
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

func newShop(t *testing.T, dbURL string) *Shop {
	t.Helper()
	db, target := dburltest.Open(t, dbURL)
	db.SetMaxOpenConns(20)
	s, err := New(db, target.Dialect, slog.New(slog.NewTextHandler(t.Output(), nil)), nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// client talks to a shop as one visitor.
type client struct {
	t      *testing.T
	base   string
	cookie string
	accept string
	http   *http.Client
}

// serve opens the shop's doors until the test ends.
func serve(t *testing.T, s *Shop) client {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	closed := make(chan error, 1)
	go func() { closed <- Serve(ctx, ln, s.Handler(), s.log) }()
	c := newClient(t, "http://"+ln.Addr().String())
	t.Cleanup(func() {
		c.http.CloseIdleConnections()
		stop()
		if err := <-closed; err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	return c
}

func newClient(t *testing.T, base string) client {
	return client{t: t, base: base, http: &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport:     &http.Transport{MaxIdleConnsPerHost: 100},
	}}
}

// answer is a response, read to its end.
type answer struct {
	status int
	header http.Header
	body   string
}

// outcome is the Idempotency-Status.
func (a answer) outcome() string { return a.header.Get("Idempotency-Status") }

func (c client) do(method, path, kind, body, key string) answer {
	c.t.Helper()
	res, err := c.http.Do(c.request(method, path, kind, body, key))
	if err != nil {
		c.t.Error(err)
		return answer{header: http.Header{}}
	}
	return c.read(res)
}

func (c client) request(method, path, kind, body, key string) *http.Request {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.base+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	for name, value := range map[string]string{"Content-Type": kind, "Idempotency-Key": key, "Cookie": c.cookie, "Accept": c.accept} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	return req
}

func (c client) read(res *http.Response) answer {
	c.t.Helper()
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		c.t.Error(err)
	}
	return answer{res.StatusCode, res.Header, string(text)}
}

func (c client) get(path string) answer { c.t.Helper(); return c.do("GET", path, "", "", "") }

// order orders through the API.
func (c client) order(key, body string) answer {
	c.t.Helper()
	return c.do("POST", "/api/orders", "application/json", body, key)
}

// submit sends a form as a browser does.
func (c client) submit(path string, fields url.Values) answer {
	c.t.Helper()
	c.accept = "text/html,application/xhtml+xml"
	return c.do("POST", path, "application/x-www-form-urlencoded", fields.Encode(), "")
}

func (c client) list() orderList {
	c.t.Helper()
	return decode[orderList](c.t, c.get("/api/orders").body)
}

func decode[T any](t *testing.T, body string) (v T) {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return v
}

func (a answer) want(t *testing.T, status int, outcome string) answer {
	t.Helper()
	if a.status != status || a.outcome() != outcome {
		t.Fatalf("got %d %q, want %d %q; %s", a.status, a.outcome(), status, outcome, bytes.TrimSpace([]byte(a.body)))
	}
	return a
}

// atOnce calls send n times in parallel and collects the answers.
func atOnce(n int, send func(i int) answer) []answer {
	answers := make([]answer, n)
	start := make(chan struct{})
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			<-start
			answers[i] = send(i)
		})
	}
	close(start)
	all.Wait()
	return answers
}

// books reads what the shop's tables say, to be compared with what was sold.
func (s *Shop) books(t *testing.T, visitor, item string) (orders, points, sold int) {
	t.Helper()
	n, err := s.count(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.points(t.Context(), visitor)
	if err != nil {
		t.Fatal(err)
	}
	err = s.db.QueryRowContext(t.Context(), s.sql.q(`SELECT sold FROM nebis_demo_goods WHERE code = ?`), item).Scan(&sold)
	if err != nil {
		t.Fatal(err)
	}
	return n, p, sold
}
