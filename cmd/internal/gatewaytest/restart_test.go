package gatewaytest

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
)

func TestAGatewayThatIsToStopFinishesTheOrderThatRuns(t *testing.T) {
	t.Parallel()
	shop := Open(t, Node)
	gate := Front(t, shop.URL, Flags...)
	shop.Payment.Hold()
	answered := make(chan answer, 1)
	go func() { answered <- order(t, gate.URL+"/checkout", "k") }()
	shop.Payment.Await(1)
	gate.Stop()
	awaitClosed(gate)
	shop.Payment.Release()
	if got := <-answered; got != created {
		t.Errorf("the order that ran was answered with %v", got)
	}
	gate.Ended()
	shop.Want(1)
}

// awaitClosed waits until a gateway takes no more connections.
func awaitClosed(g *Gateway) {
	for {
		conn, err := net.Dial("tcp", g.URL[len("http://"):])
		if err != nil {
			return
		}
		conn.Close()
	}
}

// socket stays open whoever listens on it, as systemd's.
type socket struct {
	t    *testing.T
	file *os.File
	addr string
}

func newSocket(t *testing.T) socket {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	f, err := ln.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return socket{t, f, ln.Addr().String()}
}

// front starts a gateway on the socket.
func (s socket) front(shop *Shop, flags []string) *Gateway {
	s.t.Helper()
	g := FrontOn(s.t, s.file, shop.URL, flags...)
	if g.URL != "http://"+s.addr {
		s.t.Fatalf("it listens on %s, not on the socket %s", g.URL, s.addr)
	}
	return g
}

// As `systemctl restart` does it: what comes between the two waits.
func TestAnOrderThatComesBetweenTwoGateways(t *testing.T) {
	t.Parallel()
	shop, s := Open(t, Node), newSocket(t)
	flags := append(Flags, "--db", "sqlite:"+filepath.Join(t.TempDir(), "gateway.db"))
	first := s.front(shop, flags)
	first.Stop()
	first.Ended()
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "POST /checkout HTTP/1.1\r\nHost: x\r\nIdempotency-Key: k\r\n"+
		"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 14\r\n\r\nitem=tea&qty=1")
	s.front(shop, flags)
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || res.StatusCode != http.StatusSeeOther {
		t.Errorf("it was answered with %v, %v", res, err)
	}
	shop.Want(1)
}

// Each gateway listens before the one before it has ended, with orders under way all
// the time: each order is answered, and done once.
func TestNoOrderIsLostWhenGatewaysFollowOneAnother(t *testing.T) {
	t.Parallel()
	shop, s := Open(t, Node), newSocket(t)
	flags := append(Flags, "--db", "sqlite:"+filepath.Join(t.TempDir(), "gateway.db"))
	gate := s.front(shop, flags)
	var done atomic.Bool
	var sent atomic.Int64
	var clients sync.WaitGroup
	for i := range 4 {
		clients.Go(func() {
			for n := 0; !done.Load(); n++ {
				if got := order(t, "http://"+s.addr+"/checkout", fmt.Sprint(i, "-", n)); got.status != 303 || got.outcome != "created" {
					t.Errorf("client %d, order %d: %v", i, n, got)
				}
				sent.Add(1)
			}
		})
	}
	defer clients.Wait()
	defer done.Store(true)
	for range 3 {
		next := s.front(shop, flags)
		shop.Payment.Await(shop.Payment.Calls() + 5)
		gate.Stop()
		gate.Ended()
		gate = next
		shop.Payment.Await(shop.Payment.Calls() + 5)
	}
	done.Store(true)
	clients.Wait()
	shop.Want(int(sent.Load()))
}
