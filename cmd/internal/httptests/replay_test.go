package httptests

import (
	"compress/gzip"
	"database/sql"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
	"github.com/nebis-dev/nebis/nebishttp"
)

// asked lets one handler answer in many ways: the path says which.
func asked(t *testing.T, c dbtest.Config, route *nebishttp.Route, ways map[string]http.HandlerFunc) *site {
	t.Helper()
	return orders(t, c, route, func(w http.ResponseWriter, r *http.Request, _ *sql.Tx) error {
		ways[strings.TrimPrefix(r.URL.Path, "/")](w, r)
		return nil
	})
}

// sameTwice sends to every path twice and compares what the two callers got.
func sameTwice(t *testing.T, s *site, ways map[string]http.HandlerFunc, headers ...string) {
	t.Helper()
	for name := range ways {
		first, again := s.send("/"+name, "", key, "k-"+name), s.send("/"+name, "", key, "k-"+name)
		if first.outcome() != "created" || again.outcome() != "replayed" || first.status != again.status || first.body != again.body {
			t.Errorf("%s: first %d %s %.100q, again %d %s %.100q", name, first.status, first.outcome(), first.body, again.status, again.outcome(), again.body)
		}
		for _, h := range append(headers, ctype, "Content-Length", "Location") {
			if !slices.Equal(first.header[h], again.header[h]) {
				t.Errorf("%s: %s first %q, again %q", name, h, first.header[h], again.header[h])
			}
		}
	}
	s.wantOrders(len(ways))
}

func TestTheStatusIsReplayed(t *testing.T) {
	ways := map[string]http.HandlerFunc{}
	for _, status := range []int{200, 201, 202, 204, 206, 301, 302, 303, 307, 308} {
		ways[fmt.Sprint(status)] = func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/orders/1")
			w.WriteHeader(status)
		}
	}
	s := asked(t, sqlite, nil, ways)
	sameTwice(t, s, ways)
	for name := range ways {
		if p := s.send("/"+name, "", key, "k-"+name); fmt.Sprint(p.status) != name || p.header.Get("Location") != "/orders/1" {
			t.Errorf("%s: got %d, Location %q", name, p.status, p.header.Get("Location"))
		}
	}
}

func TestEveryLineOfAHeaderIsReplayed(t *testing.T) {
	ways := map[string]http.HandlerFunc{"links": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Add("Link", "</a>; rel=next")
		w.Header().Add("Link", "</b>; rel=prev")
		w.Header().Set("Content-Disposition", "attachment; filename=\xb2\xe8.txt")
	}}
	s := asked(t, sqlite, nil, ways)
	sameTwice(t, s, ways, "Link", "Content-Disposition")
	if got := s.send("/links", "", key, "k-links").header["Link"]; len(got) != 2 {
		t.Errorf("Link is %q", got)
	}
}

func TestAWrongLengthAndAFlushDoNotHurtTheAnswer(t *testing.T) {
	ways := map[string]http.HandlerFunc{
		"too-long": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, "whole")
		},
		"too-short": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1")
			_, _ = io.WriteString(w, "whole")
		},
		"flushed": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "who")
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Errorf("Flush: %v", err)
			}
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, "le")
		},
	}
	s := asked(t, sqlite, nil, ways)
	sameTwice(t, s, ways)
	for name := range ways {
		if p := s.send("/"+name, "", key, "k-"+name); p.body != "whole" || p.status != 200 {
			t.Errorf("%s: got %d %q", name, p.status, p.body)
		}
	}
}

func TestEveryBodyIsReplayedByteForByte(t *testing.T) {
	bodies := map[string]string{
		"false": "false", "zero": "0", "null": "null", "quotes": `""`, "empty": "",
		"gbk":     "\xb2\xe8\xd2\xb6 \xb2\xe8",
		"pdf":     "%PDF-1.7\n%\xe2\xe3\xcf\xd3\x00\x01" + strings.Repeat("\x00\xff\xfe", 50_000),
		"page":    "<p title=\"a&amp;b\">茶 \u2028\u2029</p>",
		"control": "\x00\x01\x02\x1f\x7f\r\n\t\\",
		"emoji":   "😀 4 bytes in MySQL's utf8mb4",
		"record":  `{"status":500,"body64":"AA=="}`,
	}
	ways := map[string]http.HandlerFunc{}
	for name, body := range bodies {
		ways[name] = func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }
	}
	each(t, func(t *testing.T, c dbtest.Config) {
		s := asked(t, c, nil, ways)
		sameTwice(t, s, ways)
		for name, body := range bodies {
			if p := s.send("/"+name, "", key, "k-"+name); p.body != body {
				t.Errorf("%s: got %.100q", name, p.body)
			}
		}
	})
}

func TestAnAnswerAboveTheLimitIsSentWholeOnceAndNeverCut(t *testing.T) {
	each(t, func(t *testing.T, c dbtest.Config) {
		body := strings.Repeat("x", 1<<20+1)
		s := orders(t, c, nil, func(w http.ResponseWriter, _ *http.Request, _ *sql.Tx) error {
			w.Header().Set("Location", "/orders/1")
			_, err := io.WriteString(w, body)
			return err
		})
		first := s.send("/", "", key, "k")
		s.want(first, 200, "created")
		if first.body != body {
			t.Errorf("the first caller got %d bytes", len(first.body))
		}
		again := s.send("/", "", key, "k")
		s.want(again, 410, "not-kept")
		if again.header.Get("Location") != "/orders/1" {
			t.Errorf("the duplicate is not told where: %v", again.header)
		}
		s.wantOrders(1)
	})
}

func TestAnAnswerOfExactlyTheLimitIsReplayed(t *testing.T) {
	each(t, func(t *testing.T, c dbtest.Config) {
		ways := map[string]http.HandlerFunc{}
		for name, unit := range map[string]string{"text": "x", "bytes": "\xff", "control": "\x01", "quotes": `"`, "page": "<&>"} {
			body := strings.Repeat(unit, 1<<20/len(unit))
			ways[name] = func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }
		}
		s := asked(t, c, nil, ways)
		sameTwice(t, s, ways)
	})
}

// gzipped encodes what the client accepts, as the usual middlewares do.
func gzipped(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Vary", "Accept-Encoding")
		if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		defer z.Close()
		next.ServeHTTP(gzipWriter{w, z}, r)
	})
}

type gzipWriter struct {
	http.ResponseWriter
	z io.Writer
}

func (w gzipWriter) Write(p []byte) (int, error) { return w.z.Write(p) }

func TestADuplicateThatTakesNoGzipGetsReadableText(t *testing.T) {
	text := func(p reply) string {
		if p.header.Get("Content-Encoding") != "gzip" {
			return p.body
		}
		z, err := gzip.NewReader(strings.NewReader(p.body))
		if err != nil {
			return err.Error()
		}
		plain, _ := io.ReadAll(z)
		return string(plain)
	}
	answer := func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat("readable ", 1000))
	}
	for where, wrap := range map[string]func(s *site, m func(http.Handler) http.Handler) http.Handler{
		"outside": func(_ *site, guard func(http.Handler) http.Handler) http.Handler {
			return gzipped(guard(http.HandlerFunc(answer)))
		},
		"inside": func(_ *site, guard func(http.Handler) http.Handler) http.Handler {
			return guard(gzipped(http.HandlerFunc(answer)))
		},
	} {
		s := newSite(t, sqlite, nil, func(s *site, mux *http.ServeMux) { mux.Handle("/", wrap(s, s.m.Wrap("order", nil))) })
		var got []reply
		for _, accept := range []string{"gzip", "identity", "gzip", ""} {
			got = append(got, s.send("/", "", key, "k", "Accept-Encoding", accept))
		}
		for i, p := range got {
			if text(p) != strings.Repeat("readable ", 1000) {
				t.Errorf("%s, request %d: %v %.40q", where, i, p.header, p.body)
			}
		}
		if enc := got[1].header.Get("Content-Encoding"); enc != "" {
			t.Errorf("%s: a client without gzip was sent %s", where, enc)
		}
	}
}

func TestTheStoredAnswerCanBeReadInTheTable(t *testing.T) {
	each(t, func(t *testing.T, c dbtest.Config) {
		s := orders(t, c, nil, func(w http.ResponseWriter, _ *http.Request, _ *sql.Tx) error {
			w.Header().Set("Location", "/orders/1")
			w.WriteHeader(http.StatusCreated)
			_, err := io.WriteString(w, "<p>茶</p>")
			return err
		})
		s.want(s.send("/", "", key, "k"), 201, "created")
		var got, status string
		if err := s.db.QueryRow(`SELECT response, status FROM idempotency`).Scan(&got, &status); err != nil {
			t.Fatal(err)
		}
		if want := `{"status":201,"header":{"Location":["/orders/1"]},"body":"<p>茶</p>"}`; got != want || status != "done" {
			t.Errorf("the row says %s: %s", status, got)
		}
	})
}

func TestMoreHeadersAreReplayedWhereTheRouteSaysSo(t *testing.T) {
	ways := map[string]http.HandlerFunc{"x": func(w http.ResponseWriter, _ *http.Request) {
		maps.Copy(w.Header(), http.Header{"X-Order": {"1"}, "X-Trace": {"2"}})
	}}
	s := asked(t, sqlite, &nebishttp.Route{Headers: []string{"x-order"}}, ways)
	sameTwice(t, s, ways, "X-Order")
	if p := s.send("/x", "", key, "k-x"); p.header.Get("X-Trace") != "" {
		t.Error("X-Trace was replayed")
	}
}
