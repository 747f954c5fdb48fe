package scan_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/nebis-dev/nebis/cmd/internal/report"
	"github.com/nebis-dev/nebis/cmd/internal/scan"
)

func TestHostileLinesDoNoHarm(t *testing.T) {
	two := func(changes ...func(*request)) string {
		return styles[1].text(post(0, changes...), post(1, changes...))
	}
	long := strings.Repeat("x", 10<<20+7)
	for _, c := range []struct {
		name                    string
		text                    string
		lines, broken, repeated int
	}{
		{"a line of 10 MB between", styles[1].text(post(0)) + long + "\n" + styles[1].text(post(1)), 3, 1, 1},
		{"a line of 10 MB first", long + "\n" + two(), 3, 1, 1},
		{"a path of 10 MB", two() + styles[1].text(post(2, to("/"+long))), 3, 1, 1},
		{"10 MB without an end", two() + long, 3, 1, 1},
		{"a path of 100 kB", two(to("/" + long[:100_000])), 2, 0, 1},
		{"invalid UTF-8", two(to("/\xff\xfe"), with("\xc3\x28")), 2, 0, 1},
		{"an escaped quote in the agent", two(with(`Mozilla/5.0 \"quoted\" \\`)), 2, 0, 1},
		{"a quote as nginx escapes it", two(with(`Mozilla/5.0 \x22quoted\x22`)), 2, 0, 1},
		{"a raw quote in the agent", two() + styles[1].text(post(2, with(`a"b`))), 3, 0, 1}, // what follows may be one more field
		{"binary rubbish as the request", two() + `1.2.3.4 - - [01/Mar/2026:12:00:00 +0000] "\x16\x03\x01" 400 0 "-" "-"` + "\n", 3, 0, 1},
		{"no request at all", two() + `1.2.3.4 - - [01/Mar/2026:12:00:00 +0000] "-" 408 0 "-" "-"` + "\n", 3, 0, 1},
		{"a time that is none", two() + `1.2.3.4 - - [31/Foo/2026:12:00:00 +0000] "POST / HTTP/1.1" 200 0 "-" "-"` + "\n", 3, 1, 1},
		{"a line cut in half", two() + styles[1].text(post(2))[:40] + "\n", 3, 1, 1},
		{"NUL bytes", two() + strings.Repeat("\x00", 300) + "\n", 3, 1, 1},
		{"empty lines and CRLF", strings.ReplaceAll(two(), "\n", "\r\n\r\n"), 2, 0, 1},
		{"no end of the last line", strings.TrimSuffix(two(), "\n"), 2, 0, 1},
		{"a user with spaces", two(user("Ann Smith")), 2, 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := run(t, c.text, nil)
			if r.Lines != c.lines || r.Broken != c.broken || r.Repeated != c.repeated {
				t.Errorf("%d lines, %d broken, %d repeated; want %d, %d, %d", r.Lines, r.Broken, r.Repeated, c.lines, c.broken, c.repeated)
			}
			if _, err := json.Marshal(r); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestBrokenJSONIsCounted(t *testing.T) {
	s := styles[3]
	for _, bad := range []string{
		`{"remote_addr":"1.2.3.4"`, `{"a":}`, `{"a":1,}`, `{"a" 1}`, `[1]`, `{"a":"\u12"}`, `{}x`, `{"a":tru}`,
		`{"a":` + strings.Repeat(`{"a":`, 9) + `1` + strings.Repeat("}", 10), `{"a":` + strings.Repeat("[", 9) + `1` + strings.Repeat("]", 9) + `}`,
		`{"a":` + strings.Repeat("[", 100_000) + `}`,
	} {
		r := run(t, s.text(post(0))+bad+"\n"+s.text(post(1)), nil)
		if r.Broken != 1 || r.Repeated != 1 || r.Lines != 3 {
			t.Errorf("%.40s: %d broken, %d repeated", bad, r.Broken, r.Repeated)
		}
	}
}

func TestWhatLiesDeepInJSONIsReadUpToABound(t *testing.T) {
	for depth, broken := range map[int]int{8: 0, 9: 1} {
		for _, deep := range []string{strings.Repeat(`{"a":`, depth) + `1` + strings.Repeat("}", depth), strings.Repeat("[", depth) + `1` + strings.Repeat("]", depth)} {
			line := strings.TrimSuffix(styles[3].text(post(0)), "}\n") + `,"x":` + deep + "}\n"
			if r := run(t, styles[3].text(post(0))+line, nil); r.Repeated != 1-broken || r.Broken != broken {
				t.Errorf("%s: %d repeated, %d broken", deep, r.Repeated, r.Broken)
			}
		}
	}
}

func TestJSONOfOtherServers(t *testing.T) {
	for name, line := range map[string]string{
		"Caddy":   `{"level":"info","ts":1772366400.25,"logger":"http.log.access","msg":"handled request","request":{"remote_ip":"203.0.113.7","client_ip":"203.0.113.7","proto":"HTTP/2.0","method":"POST","host":"shop.example","uri":"/orders","headers":{"User-Agent":["Mozilla/5.0"],"Cookie":["REDACTED"]}},"duration":0.1,"size":0,"status":302}`,
		"Traefik": `{"ClientHost":"203.0.113.7","DownstreamStatus":302,"RequestMethod":"POST","RequestPath":"/orders","request_User-Agent":"Mozilla/5.0","time":"2026-03-01T12:00:00Z"}`,
		"escapes": `{"remote_addr":"203.0.113.7","time_local":"01\/Mar\/2026:12:00:00 +0000","request":"POST \/orders HTTP\/1.1","status":"302"}`,
	} {
		r := run(t, line+"\n"+line+"\n", nil)
		if r.Repeated != 1 || r.Routes[0].Path != "/orders" || r.Routes[0].Statuses[0].First != 302 || r.From.UTC().Hour() != 12 {
			t.Errorf("%s: %d repeated, %+v from %s", name, r.Repeated, r.Routes, r.From)
		}
	}
}

func TestAnAttackersPathIsHarmlessInEveryOutput(t *testing.T) {
	r := run(t, styles[1].text(post(0, to("/a'b\x1b[31m<script>")), post(1, to("/a'b\x1b[31m<script>")), post(2, to("/a'b")), post(3, to("/a'b"))), nil)
	if fmt.Sprint(r.Protect) != `[--protect 'POST /a'\''b']` {
		t.Errorf("a shell would be given %s", r.Protect)
	}
	var text, page strings.Builder
	if err := report.Text(&text, r.Page(report.English), false); err != nil {
		t.Fatal(err)
	}
	if err := report.HTML(&page, report.English, r.Page); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text.String(), "\x1b") || strings.Contains(page.String(), "<script>") || strings.Contains(page.String(), "\x1b") {
		t.Error("the path reached the output as it is")
	}
}

func TestPersonalDataIsShownWithFullOnly(t *testing.T) {
	s := styles[2]
	text := s.text(post(0, user("ann"), cookie("s3cret"), from("2001:db8:1:2::7")), post(1, user("ann"), cookie("s3cret"), from("2001:db8:1:2::7")),
		post(9, user("bob"), to("/u/bob@example.com")), post(9, user("bob"), to("/u/bob@example.com")))
	for _, full := range []bool{false, true} {
		b, err := json.Marshal(run(t, text, &scan.Options{Format: custom, Full: full}))
		if err != nil {
			t.Fatal(err)
		}
		for _, personal := range []string{"2001:db8:1:2::7", "203.0.113.7", "ann"} {
			if strings.Contains(string(b), personal) != full {
				t.Errorf("full %v, and %s: %s", full, personal, b)
			}
		}
		for _, want := range []string{"2001:db8:1::/48", "203.0.113.0/24"} {
			if strings.Contains(string(b), want) == full {
				t.Errorf("full %v, and %s: %s", full, want, b)
			}
		}
		if strings.Contains(string(b), "bob@") {
			t.Errorf("a path has an address: %s", b)
		}
	}
}
