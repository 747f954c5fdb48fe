package nebishttp

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
)

func testRoute(o *Route) *route {
	return (&Middleware{}).newRoute("order", o)
}

func TestAStoredAnswerReadsAsAPersonWouldWriteIt(t *testing.T) {
	rt := testRoute(nil)
	for want, a := range map[string]answer{
		`{"status":201,"header":{"Location":["/orders/1"]},"body":"{\"id\":1}\n"}`: {201, http.Header{"Location": {"/orders/1"}}, []byte("{\"id\":1}\n")},
		`{"status":200,"body":"<p>茶 & 咖啡</p>"}`:                                    {200, nil, []byte("<p>茶 & 咖啡</p>")},
		`{"status":204}`:                     {204, nil, nil},
		`{"status":200,"body64":"sui++Q=="}`: {200, nil, []byte("\xb2\xe8\xbe\xf9")},
		`{"status":200,"header64":{"Content-Disposition":["ZmlsZW5hbWU9suiy6A=="]}}`: {200, http.Header{"Content-Disposition": {"filename=\xb2\xe8\xb2\xe8"}}, nil},
	} {
		if got, err := marshal(rt.newRecord(a, nil)); err != nil || string(got) != want {
			t.Errorf("got  %s, %v\nwant %s", got, err, want)
		}
	}
}

func TestOnlyWhatMeansTheSameToAnyoneIsKept(t *testing.T) {
	rt := testRoute(&Route{Headers: []string{"x-order"}})
	outer := http.Header{"Vary": {"Origin"}, "Content-Language": {"en"}, "Link": {"</a>"}}
	rec := rt.newRecord(answer{200, http.Header{
		"Vary": {"Origin"}, "Content-Language": {"zh"}, "Link": {"</a>", "</b>"},
		"Set-Cookie": {"s=1"}, "Date": {"now"}, "Www-Authenticate": {"Basic"}, "X-Ratelimit-Remaining": {"1"},
		"Content-Length": {"0"}, "X-Order": {"1"}, "Hx-Redirect": {"/"}, "Content-Type": nil, "ETag": {`"1"`},
	}, nil}, outer)
	want := []string{"Content-Language", "Content-Type", "ETag", "Hx-Redirect", "Link", "X-Order"}
	if got := slices.Sorted(maps.Keys(rec.header)); !slices.Equal(got, want) {
		t.Errorf("kept %v, want %v", got, want)
	}
}

func TestABodyAboveTheLimitIsNeverCut(t *testing.T) {
	rt := testRoute(&Route{MaxAnswer: 3})
	a := answer{201, http.Header{"Location": {"/orders/1"}, "Content-Type": {"text/plain"}}, []byte("long")}
	got, _ := marshal(rt.newRecord(a, nil))
	if string(got) != `{"status":201,"header":{"Location":["/orders/1"]},"not_kept":4}` {
		t.Errorf("stored %s", got)
	}
	var rec record
	if err := json.Unmarshal(got, &rec); err != nil || rec.kept || rec.header.Get("Location") != "/orders/1" {
		t.Errorf("read back as %+v, %v", rec, err)
	}
	a.body = a.body[:3]
	if !rt.newRecord(a, nil).kept {
		t.Error("a body of exactly the limit is not kept")
	}
}

func TestABodyWithinTheLimitAlwaysFitsIntoTheCore(t *testing.T) {
	rt := testRoute(&Route{MaxAnswer: 100_000})
	q := &request{r: post("", "")}
	for _, unit := range []string{"a", "\"", "\n", "\x01", "\xff", "<", "茶", "\u2028", "\x01\"", "&a"} {
		body := []byte(strings.Repeat(unit, rt.MaxAnswer/len(unit)))
		got, err := marshal(rt.newRecord(answer{200, nil, body}, nil))
		if err != nil || len(got) > rt.op(q, "u").MaxResponse {
			t.Errorf("%q: %d bytes, %v", unit, len(got), err)
		}
	}
}

func TestWhatIsNotOursIsTakenForAnAnswerThatWasNotKept(t *testing.T) {
	for _, text := range []string{
		`null`, `1`, `"ok"`, `[]`, `{}`, `{"id":1}`, `{"status":"ok"}`, `{"status":1}`, `{"status":101}`, `{"status":1000}`, `{"status":200.5}`,
		`{"status":200,"body":{"id":1}}`, `{"status":200,"id":1}`, `{"status":200,"body64":"%"}`, `{"status":200,"header":{"Location":"/"}}`,
	} {
		rec := record{kept: true}
		if err := json.Unmarshal([]byte(text), &rec); err != nil || rec.kept {
			t.Errorf("%s: kept %v, %v", text, rec.kept, err)
		}
	}
}

// FuzzRecord: an answer comes back byte for byte, and no text breaks the reader.
func FuzzRecord(f *testing.F) {
	f.Add(200, "Location", "/orders/1", []byte("text"))
	f.Add(303, "Content-Disposition", "\xb2\xe8", []byte("\xff\x00"))
	f.Add(204, "", "", []byte(nil))
	f.Add(200, "Content-Type", "text/html", []byte(`{"status":201,"header":{"Location":["/"]},"body64":"AA=="}`))
	f.Add(200, "Content-Type", "text/html", []byte("\u2028<&>\"\\\x7f"))
	rt := testRoute(nil)
	f.Fuzz(func(t *testing.T, status int, name, value string, body []byte) {
		var foreign record
		if err := foreign.UnmarshalJSON(body); err != nil || foreign.kept && (foreign.status < 200 || foreign.status > 999) {
			t.Fatalf("%q is read as %+v, %v", body, foreign, err)
		}
		if status < 200 || status > 999 {
			return
		}
		first := rt.newRecord(answer{status, http.Header{name: {value, ""}}, body}, nil)
		text, err := marshal(first)
		if err != nil {
			t.Fatal(err)
		}
		var again record
		if err := json.Unmarshal(text, &again); err != nil || !again.kept || again.status != status {
			t.Fatalf("%s is read as %+v, %v", text, again, err)
		}
		if !bytes.Equal(again.body, body) || !maps.EqualFunc(again.header, first.header, slices.Equal) {
			t.Fatalf("%q, %q became %q, %q", first.header, body, again.header, again.body)
		}
	})
}
