package gateway

import (
	"bufio"
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
)

func TestEventStreamsArriveAtOnce(t *testing.T) {
	next := make(chan bool)
	r := front(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 3 {
			fmt.Fprintf(w, "data: %d\n\n", i)
			w.(http.Flusher).Flush()
			<-next
		}
	}), "", Options{})
	res, err := http.Get(r.url + "/events")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	in := bufio.NewReader(res.Body)
	for i := range 3 {
		line, err := in.ReadString('\n')
		if err != nil || line != fmt.Sprintf("data: %d\n", i) {
			t.Fatalf("event %d: %q, %v", i, line, err)
		}
		_, _ = in.ReadString('\n')
		next <- true // only now the next one is made
	}
}

func TestStoppingEndsStreamsAndFinishesRequests(t *testing.T) {
	arrived, leave := make(chan bool), make(chan bool)
	r := front(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/events" {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "data: 1\n\n")
			w.(http.Flusher).Flush()
			<-req.Context().Done()
			return
		}
		arrived <- true
		<-leave
		fmt.Fprint(w, "done")
	}), "", Options{})
	events, err := http.Get(r.url + "/events")
	if err != nil {
		t.Fatal(err)
	}
	defer events.Body.Close()
	answered := make(chan reply, 1)
	go func() { answered <- r.send("POST", "/pay", "x") }()
	<-arrived
	r.stop()
	if text, err := io.ReadAll(events.Body); err != nil || string(text) != "data: 1\n\n" {
		t.Errorf("the stream: %q, %v", text, err)
	}
	close(leave)
	if got := <-answered; got.body != "done" {
		t.Errorf("the request that ran: %d %s", got.StatusCode, got.body)
	}
	if err := <-r.done; err != nil {
		t.Error(err)
	}
	r.done <- nil
}

// What was on its way when the gateway was told to stop is answered.
func TestStoppingFinishesARequestThatIsBeingRead(t *testing.T) {
	r := front(t, http.HandlerFunc(echo), "", Options{})
	conn := r.dial()
	fmt.Fprint(conn, "POST /pay HTTP/1.1\r\nHost: x\r\n")
	r.get("/") // it has come later: the gateway has the connection by now
	r.stop()
	r.awaitClosed()
	fmt.Fprint(conn, "Content-Length: 1\r\n\r\nx")
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || res.StatusCode != http.StatusOK || !res.Close {
		t.Errorf("%v %v", res, err)
	}
	if err := <-r.done; err != nil {
		t.Error(err)
	}
	r.done <- nil
}

func (r *rig) dial() net.Conn {
	r.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { conn.Close() })
	return conn
}

// awaitClosed waits until the gateway takes no more connections.
func (r *rig) awaitClosed() {
	for {
		conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
		if err != nil {
			return
		}
		conn.Close()
	}
}

func TestWebSocketsPassThrough(t *testing.T) {
	r := front(t, http.HandlerFunc(webSocketEcho), "forms: ['GET /*']", Options{})
	s := r.webSocket()
	for range 3 {
		s.echo()
	}
}

// A socket lasts as long as what runs beside it; nothing waits for its end.
func TestStoppingLeavesWebSocketsAloneUntilRequestsAreFinished(t *testing.T) {
	arrived, leave := make(chan bool), make(chan bool)
	r := front(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/ws" {
			webSocketEcho(w, req)
			return
		}
		arrived <- true
		<-leave
		fmt.Fprint(w, "done")
	}), "", Options{})
	s := r.webSocket()
	answered := make(chan reply, 1)
	go func() { answered <- r.send("POST", "/pay", "x") }()
	<-arrived
	r.stop()
	r.awaitClosed()
	s.echo()
	close(leave)
	if got := <-answered; got.body != "done" {
		t.Errorf("the request that ran: %d %s", got.StatusCode, got.body)
	}
	if err := <-r.done; err != nil {
		t.Error(err)
	}
	r.done <- nil
}

// webSocket is one that is open.
type webSocket struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
}

func (r *rig) webSocket() webSocket {
	r.t.Helper()
	conn := r.dial()
	fmt.Fprint(conn, "GET /ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
	s := webSocket{r.t, conn, bufio.NewReader(conn)}
	res, err := http.ReadResponse(s.in, nil)
	if err != nil || res.StatusCode != http.StatusSwitchingProtocols || res.Header.Get("Sec-Websocket-Accept") != "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" {
		r.t.Fatalf("%v %v", res, err)
	}
	return s
}

// echo sends a frame, which has to come back.
func (s webSocket) echo() {
	s.t.Helper()
	// A masked frame with "hello"; the mask is zero.
	frame := []byte{0x81, 0x85, 0, 0, 0, 0, 'h', 'e', 'l', 'l', 'o'}
	_, _ = s.conn.Write(frame)
	got := make([]byte, len(frame))
	if _, err := io.ReadFull(s.in, got); err != nil || string(got) != string(frame) {
		s.t.Errorf("%q %v", got, err)
	}
}

// webSocketEcho takes the connection over and sends every byte back.
func webSocketEcho(w http.ResponseWriter, r *http.Request) {
	sum := sha1.Sum([]byte(r.Header.Get("Sec-Websocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	conn, buf, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	fmt.Fprintf(buf, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: %s\r\n\r\n", base64.StdEncoding.EncodeToString(sum[:]))
	_ = buf.Flush()
	_, _ = io.Copy(conn, buf)
}

func TestLargeBodiesAreNotHeldInMemory(t *testing.T) {
	const size = 96 << 20
	var heap atomic.Uint64
	r := front(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		n, err := io.Copy(io.Discard, req.Body)
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		heap.Store(m.HeapAlloc) // what is alive while the upload is under way
		w.Header().Set("Content-Length", fmt.Sprint(size))
		if err == nil && n == size {
			_, _ = io.Copy(w, &endlessPage{part: strings.Repeat("x", 1000), left: size})
		}
	}), "forms: ['GET /*']", Options{})
	req, _ := http.NewRequest("POST", r.url+"/upload", &endlessPage{part: strings.Repeat("y", 1000), left: size})
	req.ContentLength = size
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	n, err := io.Copy(io.Discard, res.Body)
	if err != nil || n != size {
		t.Errorf("%d bytes came back, %v", n, err)
	}
	if heap.Load() > size/3 {
		t.Errorf("the heap has %d MiB", heap.Load()>>20)
	}
}
