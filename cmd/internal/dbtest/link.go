package dbtest

import (
	"net"
	"sync/atomic"
)

// link is one connection through a Proxy.
type link struct {
	proxy          *Proxy
	client, server net.Conn

	spoken atomic.Bool          // the client has spoken since the server did
	deaf   atomic.Bool          // what the server says is dropped
	silent atomic.Bool          // neither side may learn that the other has gone
	late   atomic.Pointer[Trap] // what the server says waits for its release
	answer chan struct{}        // the server has said something
	gone   chan struct{}        // the server has closed the connection
}

func (l *link) cut() {
	l.client.Close()
	l.server.Close()
}

// up carries what the client says to the server until either is gone.
func (l *link) up() {
	defer l.cut()
	buf := make([]byte, 64<<10)
	for {
		n, err := l.client.Read(buf)
		if n > 0 && !l.forward(buf[:n]) {
			return
		}
		if err != nil {
			return
		}
	}
}

// forward passes a packet on, or does to it what a trap says. It reports
// whether the link goes on.
func (l *link) forward(packet []byte) bool {
	if !l.spoken.Swap(true) {
		l.proxy.trips.Add(1)
	}
	t := l.proxy.spring(packet)
	if t == nil {
		_, err := l.server.Write(packet)
		return err == nil
	}
	switch t.fault {
	case CutBefore:
		l.cut()
		close(t.sprung)
		return false
	case CutAfter:
		l.deaf.Store(true)
		close(t.sprung)
		l.deliver(t, packet)
		return false
	case Hold:
		close(t.sprung)
		l.await(t.release)
		l.deliver(t, packet)
		return true
	case HoldAnswer:
		l.late.Store(t)
		close(t.sprung)
		l.deliver(t, packet)
		return true
	default:
		l.swallow(t)
		return false
	}
}

// deliver sends the packet and waits for the server's answer.
func (l *link) deliver(t *Trap, packet []byte) {
	defer close(t.through)
	select {
	case <-l.answer: // to what came before
	default:
	}
	if _, err := l.server.Write(packet); err == nil {
		l.await(l.answer)
	}
}

// swallow drops what the client says, and keeps the server connected when the
// client has gone.
func (l *link) swallow(t *Trap) {
	l.deaf.Store(true)
	l.silent.Store(true)
	close(t.sprung)
	l.proxy.wg.Go(func() {
		buf := make([]byte, 4096)
		for {
			if _, err := l.client.Read(buf); err != nil {
				return
			}
		}
	})
	select {
	case <-t.release:
	case <-l.proxy.closed:
	}
}

// await waits for an event, but no longer than the server and the proxy last.
func (l *link) await(event <-chan struct{}) {
	select {
	case <-event:
	case <-l.gone:
	case <-l.proxy.closed:
	}
}

// down carries what the server says to the client.
func (l *link) down() {
	defer close(l.gone)
	buf := make([]byte, 64<<10)
	for {
		n, err := l.server.Read(buf)
		if n > 0 {
			l.heard(buf[:n])
		}
		if err != nil {
			if !l.silent.Load() {
				l.client.Close()
			}
			return
		}
	}
}

func (l *link) heard(b []byte) {
	l.spoken.Store(false)
	select {
	case l.answer <- struct{}{}:
	default:
	}
	if t := l.late.Load(); t != nil {
		l.await(t.release)
	}
	if !l.deaf.Load() {
		l.client.Write(b) // a client that has gone is noticed by up
	}
}
