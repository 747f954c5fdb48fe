package dbtest

import (
	"net"
	"regexp"
	"sync"
	"sync/atomic"
	"testing"
)

// Proxy forwards TCP connections to a server and breaks one of them when a
// trap that was set for it sees its packet.
type Proxy struct {
	Addr string // host:port to connect to

	target string
	listen net.Listener
	closed chan struct{}
	wg     sync.WaitGroup
	trips  atomic.Int64

	mu    sync.Mutex
	traps []*Trap
	links map[*link]bool
}

// Fault is what happens to the packet that a trap was set for, and to its
// connection.
type Fault int

// The faults.
const (
	// CutBefore cuts both sides; the packet never reaches the server.
	CutBefore Fault = iota + 1
	// CutAfter delivers the packet, drops the server's answer, cuts both sides.
	CutAfter
	// Hold keeps the packet back until Release, and delivers it then even if
	// the client has gone.
	Hold
	// HoldAnswer delivers the packet, and keeps back what the server says until
	// Release.
	HoldAnswer
	// Swallow drops the packet and all that follows in either direction. Both
	// sides stay connected: no FIN, no RST. Release cuts them.
	Swallow
)

// Trap waits for one packet. It springs once.
type Trap struct {
	fault   Fault
	match   func([]byte) bool
	sprung  chan struct{}
	release chan struct{}
	once    sync.Once
	through chan struct{}
}

// Sprung is closed when the trap has seen its packet.
func (t *Trap) Sprung() <-chan struct{} { return t.sprung }

// Release lets a held packet or answer go on, or ends the silence of Swallow.
func (t *Trap) Release() { t.once.Do(func() { close(t.release) }) }

// Answered is closed when the server has answered the packet (CutAfter, Hold,
// HoldAnswer),
// or cut the connection instead.
func (t *Trap) Answered() <-chan struct{} { return t.through }

var commit = regexp.MustCompile(`(?i)\bcommit\b`)

// Commit matches a packet with a COMMIT statement, not one that only speaks of
// READ COMMITTED.
func Commit(packet []byte) bool { return commit.Match(packet) }

// NewProxy returns a proxy in front of the server at target, closed at cleanup.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("dbtest: proxy: %v", err)
	}
	p := &Proxy{
		Addr: l.Addr().String(), target: target, listen: l,
		closed: make(chan struct{}), links: map[*link]bool{},
	}
	p.wg.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

// Set sets a trap for the next packet from any client that match accepts. A
// packet is what one read from the client's connection returned: drivers write
// a command at once, together with the commands they pipeline before it.
func (p *Proxy) Set(f Fault, match func(packet []byte) bool) *Trap {
	t := &Trap{
		fault: f, match: match, sprung: make(chan struct{}),
		release: make(chan struct{}), through: make(chan struct{}),
	}
	p.mu.Lock()
	p.traps = append(p.traps, t)
	p.mu.Unlock()
	return t
}

// RoundTrips returns how often a client spoke after the server had, or first.
func (p *Proxy) RoundTrips() int64 { return p.trips.Load() }

// CutAll cuts every connection; new ones are accepted.
func (p *Proxy) CutAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.cut()
	}
}

func (p *Proxy) close() {
	close(p.closed)
	p.listen.Close()
	p.CutAll()
	p.wg.Wait()
}

func (p *Proxy) accept() {
	for {
		client, err := p.listen.Accept()
		if err != nil {
			return
		}
		p.wg.Go(func() { p.serve(client) })
	}
}

func (p *Proxy) serve(client net.Conn) {
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		client.Close()
		return
	}
	l := &link{proxy: p, client: client, server: server, answer: make(chan struct{}, 1), gone: make(chan struct{})}
	if !p.add(l) {
		l.cut()
		return
	}
	p.wg.Go(l.down)
	l.up()
	p.mu.Lock()
	delete(p.links, l)
	p.mu.Unlock()
}

// add registers a link, unless the proxy has been closed meanwhile.
func (p *Proxy) add(l *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.closed:
		return false
	default:
		p.links[l] = true
		return true
	}
}

// spring returns the first trap that wants the packet and disarms it.
func (p *Proxy) spring(packet []byte) *Trap {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, t := range p.traps {
		if t.match(packet) {
			p.traps = append(p.traps[:i:i], p.traps[i+1:]...)
			return t
		}
	}
	return nil
}
