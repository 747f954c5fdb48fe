package httptests

import (
	"bytes"
	"database/sql"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/nebis-dev/nebis/nebishttp"
)

// pair is two bodies sent with one key.
type pair struct {
	name, typeA, a, typeB, b string
	same                     bool
}

func tryPairs(t *testing.T, route *nebishttp.Route, pairs []pair) {
	t.Helper()
	s := orders(t, sqlite, route, nil)
	for i, c := range pairs {
		k := fmt.Sprintf("k%d", i)
		s.want(s.send("/", c.a, key, k, ctype, c.typeA), 201, "created")
		again := s.send("/", c.b, key, k, ctype, c.typeB)
		status, outcome := 422, "mismatch"
		if c.same {
			status, outcome = 201, "replayed"
		}
		if again.status != status || again.outcome() != outcome {
			t.Errorf("%s: got %d %q, want %d", c.name, again.status, again.outcome(), status)
		}
	}
	s.wantOrders(len(pairs))
}

func TestTheSameRequestIsReplayedAndAnotherIsRefused(t *testing.T) {
	deep := func(inner string) string { return strings.Repeat("[", 9_999) + inner + strings.Repeat("]", 9_999) }
	tryPairs(t, nil, []pair{
		{"permuted JSON", js, `{"a":1,"b":2}`, js, `{"b":2,"a":1}`, true},
		{"permuted further down", js, `{"o":[{"a":1,"b":{"x":1,"y":2}}]}`, js, `{"o":[{"b":{"y":2,"x":1},"a":1}]}`, true},
		{"permuted array", js, `[1,2]`, js, `[2,1]`, false},
		{"another amount", js, `{"amount":1}`, js, `{"amount":999}`, false},
		{"another media type", js, `{"a":1}`, "text/plain", `{"a":1}`, false},
		{"charset added", js, `{"a":1}`, js + "; charset=utf-8", `{"a":1}`, true},
		{"one number, written in two ways", js, `{"amount":1e2}`, js, `{"amount":100.0}`, true},
		{"two amounts of 20 digits", js, `{"amount":12345678901234567890}`, js, `{"amount":12345678901234567891}`, false},
		{"a huge power of ten", js, `1e999999999`, js, `1e999999998`, false},
		{"duplicate names", js, `{"a":1,"a":2}`, js, `{"a":2,"a":1}`, false},
		{"duplicate names, sent again", js, `{"a":1,"a":2}`, js, `{"a":1,"a":2}`, true},
		{"a lone surrogate", js, `"\ud800"`, js, `"\ud801"`, false},
		{"a lone surrogate, sent again", js, `"\ud800"`, js, `"\uD800"`, true},
		{"depth 10,000", js, deep(`1`), js, deep(` 1 `), true},
		{"depth 10,000, another amount", js, deep(`1`), js, deep(`2`), false},
		{"deeper than JSON is read", js, "[[" + deep(`1`) + "]]", js, "[[" + deep(`2`) + "]]", false},
		{"broken JSON, sent again", js, `{"a":`, js, `{"a":`, true},
		{"CSRF token of a form", form, "item=tea&csrf_token=1", form, "csrf_token=2&item=tea", true},
		{"field that a form may change", form, "item=tea&stamp=1", form, "item=tea&stamp=2", false},
		{"another field", form, "item=tea", form, "item=coffee", false},
	})
}

func TestEveryKnownCSRFFieldAndEveryIgnoredFieldMayChange(t *testing.T) {
	var pairs []pair
	for _, name := range []string{"csrf_token", "_token", "authenticity_token", "gorilla.csrf.Token", "csrfmiddlewaretoken", "__RequestVerificationToken", "_wpnonce", "stamp"} {
		pairs = append(pairs, pair{name, form, "item=tea&" + name + "=1", form, "item=tea&" + name + "=2", true})
	}
	pairs = append(pairs, pair{"in JSON", js, `{"a":1,"stamp":1}`, js, `{"a":1,"stamp":2}`, true})
	tryPairs(t, &nebishttp.Route{Ignore: []string{"stamp"}}, pairs)
}

func TestASignedPayloadIsComparedByteByByte(t *testing.T) {
	tryPairs(t, &nebishttp.Route{Raw: true}, []pair{
		{"permuted JSON", js, `{"a":1,"b":2}`, js, `{"b":2,"a":1}`, false},
		{"the same bytes", js, `{"a":1,"b":2}`, js, `{"a":1,"b":2}`, true},
	})
}

func TestACallbackMayDifferInEverythingButItsKey(t *testing.T) {
	tryPairs(t, &nebishttp.Route{NoFingerprint: true}, []pair{
		{"time and signature", js, `{"time":1,"sign":"a"}`, form, `time=2&sign=b`, true},
	})
}

func TestTheSizeOfTheChunksDoesNotCount(t *testing.T) {
	var got []string
	s := orders(t, sqlite, nil, func(w http.ResponseWriter, r *http.Request, _ *sql.Tx) error {
		body, err := io.ReadAll(r.Body)
		got = append(got, string(body))
		w.WriteHeader(http.StatusCreated)
		return err
	})
	body := strings.Repeat("31 kB of a body, ", 1850)
	for i, chunks := range []io.Reader{iotest.OneByteReader(strings.NewReader(body)), io.MultiReader(strings.NewReader(body)), strings.NewReader(body)} {
		p, err := s.try("POST", "/", chunks, key, "k", ctype, "text/plain")
		if err != nil {
			t.Fatal(err)
		}
		s.want(p, 201, []string{"created", "replayed", "replayed"}[i])
	}
	if len(got) != 1 || got[0] != body {
		t.Errorf("the handler ran %d times, or got another body", len(got))
	}
}

func multipartForm(t *testing.T, boundary string) (contentType, body string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	if err := w.SetBoundary(boundary); err != nil {
		t.Fatal(err)
	}
	_ = w.WriteField("idempotency_key", "k-multipart")
	_ = w.WriteField("item", "tea")
	part, _ := w.CreateFormFile("photo", "a.png")
	_, _ = part.Write([]byte("\x89PNG\x00\xff"))
	_ = w.Close()
	return w.FormDataContentType(), b.String()
}

func TestTheBoundaryOfAMultipartFormDoesNotCount(t *testing.T) {
	var photo []byte
	s := orders(t, sqlite, nil, func(w http.ResponseWriter, r *http.Request, _ *sql.Tx) error {
		if r.FormValue("item") != "tea" || r.PostFormValue("item") != "tea" {
			t.Error("the handler cannot read the form")
		}
		f, _, err := r.FormFile("photo")
		if err != nil {
			return err
		}
		photo, err = io.ReadAll(f)
		nebishttp.SeeOther(w, r, "/orders/1")
		return err
	})
	for i, boundary := range []string{"AAAA", "----another"} {
		contentType, body := multipartForm(t, boundary)
		s.want(s.send("/", body, ctype, contentType), 303, []string{"created", "replayed"}[i])
	}
	if string(photo) != "\x89PNG\x00\xff" {
		t.Errorf("the handler read %q", photo)
	}
	s.wantOrders(1)
}

func TestAMultipartFormThatCannotBeReadDoesNotRunWithoutItsKey(t *testing.T) {
	s := orders(t, sqlite, nil, nil)
	contentType, body := multipartForm(t, "AAAA")
	p := s.send("/", body[:len(body)/2], ctype, contentType)
	s.want(p, 400, "invalid")
	s.wantOrders(0)
}
