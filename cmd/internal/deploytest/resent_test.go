//go:build linux

package deploytest

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
)

// deaf is a site that answers what reads, and takes what writes and closes the
// connection without an answer: it may have written the order before it died.
type deaf struct {
	addr   string
	writes atomic.Int32
	reused atomic.Int32 // those that came on a connection used before
}

func newDeaf(t *testing.T) *deaf {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	d := &deaf{addr: ln.Addr().String()}
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go d.serve(conn)
		}
	}()
	return d
}

func (d *deaf) serve(conn net.Conn) {
	defer conn.Close()
	for in, used := bufio.NewReader(conn), false; ; used = true {
		req, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		if _, err := io.Copy(io.Discard, req.Body); err != nil {
			return
		}
		if req.Method != http.MethodGet {
			if used {
				d.reused.Add(1)
			}
			d.writes.Add(1)
			return
		}
		if _, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nok"); err != nil {
			return
		}
	}
}

// answered is what a client gets that sends a write through a proxy, on a connection
// of its own that it may have used before: a status, or "closed", upon which a browser
// sends the write again.
func answered(t *testing.T, proxy, write string, used bool) string {
	t.Helper()
	conn, err := net.Dial("tcp", proxy)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	in := bufio.NewReader(conn)
	if used {
		if got := exchange(t, conn, in, "GET / HTTP/1.1\r\nHost: shop.example\r\n\r\n"); got != "200" {
			t.Fatalf("the page: %s", got)
		}
	}
	return exchange(t, conn, in, write)
}

func exchange(t *testing.T, conn net.Conn, in *bufio.Reader, request string) string {
	t.Helper()
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(in, nil)
	if err != nil {
		return "closed"
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		t.Fatal(err)
	}
	return res.Status[:3]
}

// The writes.
const (
	aForm = "POST /checkout HTTP/1.1\r\nHost: shop.example\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 8\r\n\r\nitem=tea"
	keyed = "POST /checkout HTTP/1.1\r\nHost: shop.example\r\nIdempotency-Key: k\r\nContent-Length: 0\r\n\r\n"
	aPut  = "PUT /checkout HTTP/1.1\r\nHost: shop.example\r\nContent-Length: 8\r\n\r\nitem=tea"
)

// arrival is how often a write arrives at the site, and what its sender gets.
type arrival struct {
	times  int32
	answer string
}

// again is a write through a proxy, sent on connections that are new, and on ones that
// were used before.
type again struct {
	write     string
	new, used arrival
	open      func(t *testing.T, d *deaf) (proxy string)
}

func (a again) run(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]arrival{"new": a.new, "used": a.used} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, reused := a.once(t, name == "used")
			// A proxy may answer before it has put its own connection to the site
			// back: then the write has gone over a new one.
			for try := 1; got != want && name == "used" && !reused && try < 10; try++ {
				got, reused = a.once(t, true)
			}
			if got != want {
				t.Errorf("it arrives %d times and is answered %s; want %d, %s", got.times, got.answer, want.times, want.answer)
			}
		})
	}
}

// once sends the write once, and tells whether the proxy sent it over a connection
// that it had used before.
func (a again) once(t *testing.T, used bool) (got arrival, reused bool) {
	t.Helper()
	d := newDeaf(t)
	proxy := a.open(t, d)
	answer := answered(t, proxy, a.write, used)
	return arrival{d.writes.Load(), answer}, d.reused.Load() > 0
}

func runAll(t *testing.T, all map[string]again) {
	for name, a := range all {
		t.Run(name, a.run)
	}
}
