package httptests

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nebis-dev/nebis/nebishttp"
)

func TestARequestBodyAboveTheLimitIsRefusedBeforeTheHandlerRuns(t *testing.T) {
	s := orders(t, sqlite, &nebishttp.Route{MaxRequest: 1000}, nil)
	long := strings.Repeat("x", 1001)
	for name, body := range map[string]io.Reader{
		"with a length": strings.NewReader(long),
		"chunked":       io.MultiReader(strings.NewReader(long)),
	} {
		for _, pairs := range [][]string{{key, "k"}, nil, {ctype, form}} {
			p, err := s.try("POST", "/", body, pairs...)
			if err != nil {
				t.Fatal(name, err)
			}
			s.want(p, 413, "invalid")
			body = io.MultiReader(strings.NewReader(long))
		}
	}
	if n := s.ran.Load(); n != 0 {
		t.Errorf("the handler ran %d times", n)
	}
	s.want(s.send("/", long[:1000], key, "k"), 201, "created")
}

// raw sends bytes as they are and reads the status line of the answer.
func (s *site) raw(request string, half bool) string {
	s.t.Helper()
	conn, err := new(net.Dialer).DialContext(context.Background(), "tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := io.WriteString(conn, request); err != nil {
		s.t.Fatal(err)
	}
	if half {
		_ = conn.(*net.TCPConn).CloseWrite()
	}
	line, _ := bufio.NewReader(conn).ReadString('\n')
	return strings.TrimSpace(line)
}

func TestAContentLengthThatLies(t *testing.T) {
	s := orders(t, sqlite, &nebishttp.Route{MaxRequest: 1000}, nil)
	head := "POST / HTTP/1.1\r\nHost: x\r\nIdempotency-Key: k\r\nConnection: close\r\n"
	if got := s.raw(head+"Content-Length: 1001\r\n\r\n", false); got != "HTTP/1.1 413 Request Entity Too Large" {
		t.Errorf("too long, and nothing sent: %q", got)
	}
	if got := s.raw(head+"Content-Length: 999999999999\r\nExpect: 100-continue\r\n\r\n", false); !strings.Contains(got, " 413 ") {
		t.Errorf("asked before it sends: %q", got)
	}
	if got := s.raw(head+"Content-Length: 900\r\n\r\n"+strings.Repeat("x", 10), true); !strings.Contains(got, " 400 ") {
		t.Errorf("more said than sent: %q", got)
	}
	chunk := fmt.Sprintf("%x\r\n%s\r\n", 600, strings.Repeat("x", 600))
	if got := s.raw(head+"Transfer-Encoding: chunked\r\n\r\n"+chunk+chunk+"0\r\n\r\n", false); !strings.Contains(got, " 413 ") {
		t.Errorf("chunked: %q", got)
	}
	if got := s.raw(head+"Transfer-Encoding: chunked\r\n\r\n"+chunk, true); !strings.Contains(got, " 400 ") {
		t.Errorf("chunked, and broken off: %q", got)
	}
	if n := s.ran.Load(); n != 0 {
		t.Errorf("the handler ran %d times", n)
	}
}

func TestAPersonWhoSendsTooMuchSeesAPage(t *testing.T) {
	s := orders(t, sqlite, &nebishttp.Route{MaxRequest: 10}, nil)
	p := s.send("/", "item="+strings.Repeat("x", 100), ctype, form, "Accept", html, "Accept-Language", "zh-CN")
	s.want(p, http.StatusRequestEntityTooLarge, "invalid")
	if !strings.Contains(p.body, `<html lang="zh">`) || !strings.Contains(p.body, "内容过大") {
		t.Errorf("got %s", p.body)
	}
}
