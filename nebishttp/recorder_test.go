package nebishttp

import (
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
)

func record1(outer http.Header, h func(w http.ResponseWriter)) *http.Response {
	rec := newRecorder(outer)
	h(rec)
	w := httptest.NewRecorder()
	maps.Copy(w.Header(), outer)
	rec.finish().send(w, "created")
	return w.Result()
}

func TestTheRecorderAnswersAsNetHTTPWould(t *testing.T) {
	type header = http.Header
	for name, c := range map[string]struct {
		h      func(w http.ResponseWriter)
		status int
		body   string
		header header
	}{
		"nothing written":                   {func(http.ResponseWriter) {}, 200, "", header{}},
		"the first status counts":           {func(w http.ResponseWriter) { w.WriteHeader(201); w.WriteHeader(500) }, 201, "", header{}},
		"informational answers are dropped": {func(w http.ResponseWriter) { w.WriteHeader(103); w.WriteHeader(100); w.WriteHeader(202) }, 202, "", header{}},
		"a header after the status is late": {func(w http.ResponseWriter) { w.WriteHeader(200); w.Header().Set("Late", "1") }, 200, "", header{}},
		"a wrong length is corrected": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, "four")
		}, 200, "four", header{"Content-Length": {"4"}}},
		"a length without a body goes": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "1000")
			w.WriteHeader(204)
		}, 204, "", header{}},
		"flushing and more": {func(w http.ResponseWriter) {
			_, _ = w.Write([]byte("a"))
			w.(http.Flusher).Flush()
			_, _ = w.Write([]byte("b"))
		}, 200, "ab", header{}},
		"trailers and framing go": {func(w http.ResponseWriter) {
			w.Header().Set("Trailer", "X")
			w.Header().Set("Transfer-Encoding", "chunked")
			w.Header().Set(http.TrailerPrefix+"Y", "1")
			Keep(w)
		}, 200, "", header{}},
	} {
		got := record1(nil, c.h)
		body, _ := io.ReadAll(got.Body)
		got.Header.Del(statusHeader)
		if got.StatusCode != c.status || string(body) != c.body || !maps.EqualFunc(got.Header, c.header, slices.Equal) {
			t.Errorf("%s: got %d %q %v", name, got.StatusCode, body, got.Header)
		}
	}
}

func TestTheHandlerSeesAndMayRemoveWhatWasSetOutside(t *testing.T) {
	outer := http.Header{"X-Request-Id": {"1"}, "Vary": {"Origin"}}
	got := record1(outer, func(w http.ResponseWriter) {
		if w.Header().Get("X-Request-Id") != "1" {
			t.Error("the handler does not see the outer header")
		}
		w.Header().Del("X-Request-Id")
		w.Header().Add("Vary", "Accept")
	})
	if got.Header.Get("X-Request-Id") != "" || !slices.Equal(got.Header["Vary"], []string{"Origin", "Accept"}) {
		t.Errorf("sent %v", got.Header)
	}
}

func TestNoBodyForAStatusThatAllowsNone(t *testing.T) {
	rec := newRecorder(nil)
	rec.WriteHeader(304)
	if _, err := rec.Write([]byte("x")); !errors.Is(err, http.ErrBodyNotAllowed) || len(rec.answer.body) != 0 {
		t.Errorf("got %v", err)
	}
}

func TestAnInvalidStatusPanicsBeforeTheCommit(t *testing.T) {
	for _, status := range []int{0, 99, 1000} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%d: no panic", status)
				}
			}()
			newRecorder(nil).WriteHeader(status)
		}()
	}
}

func TestNothingReachesPastTheRecorder(t *testing.T) {
	rec := newRecorder(nil)
	rc := http.NewResponseController(rec)
	if err := rc.Flush(); err != nil {
		t.Errorf("Flush: %v; want nothing", err)
	}
	if _, _, err := rc.Hijack(); !errors.Is(err, http.ErrNotSupported) {
		t.Errorf("Hijack: %v", err)
	}
	if _, ok := any(rec).(interface{ Unwrap() http.ResponseWriter }); ok {
		t.Error("the recorder has an Unwrap")
	}
}
