package scan

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestFormatsCutTheirLines(t *testing.T) {
	for _, c := range []struct{ format, line, addr, when, request, agent string }{
		{"common", `::1 - - [01/Mar/2026:12:00:00 +0000] "POST /a HTTP/1.1" 200 -`, "::1", "01/Mar/2026:12:00:00 +0000", "POST /a HTTP/1.1", ""},
		{"vhost_combined", `shop:443 1.2.3.4 - - [01/Mar/2026:12:00:00 +0000] "POST /a HTTP/1.1" 200 1 "-" "x"`, "1.2.3.4", "01/Mar/2026:12:00:00 +0000", "POST /a HTTP/1.1", "x"},
		{"main", `10.0.0.1 - - [01/Mar/2026:12:00:00 +0000] "POST /a HTTP/1.1" 200 1 "-" "x" "1.2.3.4"`, "1.2.3.4", "01/Mar/2026:12:00:00 +0000", "POST /a HTTP/1.1", "x"},
		{`LogFormat "%a %{usec}t \"%r\" %>s %O \"%{User-Agent}i\" %D" shop`, `1.2.3.4 1772366400000000 "POST /a HTTP/1.1" 200 1 "x" 12`, "1.2.3.4", "1772366400000000", "POST /a HTTP/1.1", "x"},
		{`%h %{%Y-%m-%dT%H:%M:%S%z}t "%r" 100%%`, `1.2.3.4 2026-03-01T12:00:00+0000 "POST /a HTTP/1.1" 100%`, "1.2.3.4", "2026-03-01T12:00:00+0000", "POST /a HTTP/1.1", ""},
		{"combined", `1.2.3.4 - - [01/Mar/2026:12:00:00 +0000] "POST /a HTTP/1.1" 200 1 "-" "x\"y\\"`, "1.2.3.4", "01/Mar/2026:12:00:00 +0000", "POST /a HTTP/1.1", `x\"y\\`},
		{`${remote_addr}|$msec|$request|$http_user_agent`, `1.2.3.4|1772366400.123|POST /a HTTP/1.1|x y`, "1.2.3.4", "1772366400.123", "POST /a HTTP/1.1", "x y"},
	} {
		f, err := parseFormat(c.format)
		if err != nil {
			t.Errorf("%s: %v", c.format, err)
			continue
		}
		var e entry
		if !f.cut([]byte(c.line), &e) || string(address(&e)) != c.addr || string(e[when]) != c.when || string(e[request]) != c.request || string(e[agent]) != c.agent {
			t.Errorf("%s: %q", c.format, e)
		}
		if at, ok := (clock{}).parse(e[when]); !ok || at/second != 1772366400 {
			t.Errorf("%s: the time is %v, %v", c.format, at, ok)
		}
	}
}

// A format of the site's own is taken as it stands.
func TestAFormatThatWasGivenFitsTheWholeLine(t *testing.T) {
	f, err := parseFormat(`$remote_addr [$time_local] "$request"`)
	if err != nil {
		t.Fatal(err)
	}
	for line, fits := range map[string]bool{`1.2.3.4 [x] "POST /"`: true, `1.2.3.4 [x] "POST /" 200`: false, `1.2.3.4 [x] "POST /`: false} {
		if f.cut([]byte(line), new(entry)) != fits {
			t.Errorf("%s: %v", line, !fits)
		}
	}
}

func TestALeapSecondIsTheOneAfter(t *testing.T) {
	at, ok := clock{}.parse([]byte("2016-12-31T23:59:60Z"))
	if next, _ := (clock{}).parse([]byte("2017-01-01T00:00:00Z")); !ok || at != next {
		t.Errorf("%d, %v; want %d", at, ok, next)
	}
	if _, ok := (clock{}).parse([]byte("2016-12-31T23:59:61Z")); ok {
		t.Error("a second that no clock shows")
	}
}

func TestAFormatThatCannotWorkIsRefused(t *testing.T) {
	for format, says := range map[string]string{
		"combind":                            "neither a log_format",
		"$remote_addr $request":              "no time",
		"$remote_addr [$time_local]":         "no request",
		`[$time_local] "$request"`:           "tells visitors apart",
		`$remote_addr$time_local "$request"`: "side by side",
		"${remote_addr [$time_local]":        "without its }",
		"$ $time_local":                      "without a name",
		"%h %t %{Referer":                    "without its }",
		"%h %":                               "without a letter",
	} {
		if _, err := parseFormat(format); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v; want %q", format, err, says)
		}
	}
}

func TestEachLogHasItsFormatByItself(t *testing.T) {
	lines := map[string]string{
		commonFormat:   `1.2.3.4 - - [01/Mar/2026:12:00:00 +0000] "POST /a HTTP/1.1" 200 1`,
		combinedFormat: `1.2.3.4 - - [01/Mar/2026:12:00:00 +0000] "POST /a HTTP/1.1" 200 1 "-" "x"`,
		mainFormat:     `1.2.3.4 - - [01/Mar/2026:12:00:00 +0000] "POST /a HTTP/1.1" 200 1 "-" "x" "-"`,
		vhostFormat:    `shop:80 1.2.3.4 - - [01/Mar/2026:12:00:00 +0000] "POST /a HTTP/1.1" 200 1 "-" "x"`,
		hostFormat:     `shop 1.2.3.4 - - [01/Mar/2026:12:00:00 +0000] "POST /a HTTP/1.1" 200 1 "-" "x"`,
	}
	for format, line := range lines {
		got := detect([]byte(line + "\n")).(*pattern)
		if want := loose(format); !slices.Equal(got.parts, want.parts) {
			t.Errorf("%s was taken for another format: %+v", line, got)
		}
	}
	if _, is := detect([]byte(`{"time":"2026-03-01T12:00:00Z"}` + "\n")).(jsonLines); !is {
		t.Error("JSON was taken for text")
	}
}

// The address of behind a proxy is one field of many that a site may have added.
func TestWhatIsNoAddressTellsNobodyApart(t *testing.T) {
	for told, want := range map[string]string{
		"192.0.2.1": "192.0.2.1", "192.0.2.1, 10.0.0.1": "192.0.2.1", "2001:db8::1": "2001:db8::1", "192.0.2.1:443": "192.0.2.1:443", "[2001:db8::1]:443": "[2001:db8::1]:443",
		"0.123": "203.0.113.7", "rt=0.1": "203.0.113.7", "unknown": "203.0.113.7", "": "203.0.113.7", strings.Repeat("1", 1000): "203.0.113.7", "fe80::1%" + strings.Repeat("x", 1000): "203.0.113.7",
	} {
		e := entry{addr: []byte("203.0.113.7"), forwarded: []byte(told)}
		if got := string(address(&e)); got != want {
			t.Errorf("%.40s is %s, want %s", told, got, want)
		}
	}
	if got := string(address(&entry{forwarded: []byte("ann")})); got != "ann" {
		t.Errorf("without another address it is %s", got)
	}
}

func TestOnlyAPathThatIsShownAsItIsCanBeAnArgument(t *testing.T) {
	for path, want := range map[string]string{
		"/orders": "--protect 'POST /orders'", "/a'b": `--protect 'POST /a'\''b'`, "/" + strings.Repeat("x", 150): "--protect 'POST /" + strings.Repeat("x", 150) + "'",
		"/a\x1b[31m": "", "/\xff": "", fold("/" + strings.Repeat("x", 300)): "", "…": "",
	} {
		line, exact := (&Route{Method: "POST", Path: path}).protect()
		if exact != (want != "") || exact && line != want {
			t.Errorf("%q: %s, %v", path, line, exact)
		}
	}
}

// The library's own reading of times is the measure.
func TestClockAgreesWithTheLibrary(t *testing.T) {
	shanghai, err := time.LoadLocation("Asia/Shanghai")
	if err != nil {
		t.Fatal(err)
	}
	newYork, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	for at := time.Date(1999, 12, 1, 23, 59, 58, 0, time.UTC); at.Year() < 2032; at = at.Add(613*time.Hour + 7*time.Minute + time.Second) {
		for _, layout := range []string{"02/Jan/2006:15:04:05 -0700", time.RFC3339, "2006-01-02 15:04:05"} {
			for _, zone := range []*time.Location{shanghai, newYork} {
				if zone == newYork && !strings.Contains(layout, "07") {
					continue // its clock shows an hour twice
				}
				text := at.In(zone).Format(layout)
				if got, ok := (clock{zone}).parse([]byte(text)); !ok || got != at.UnixMicro() {
					t.Fatalf("%s: %v, %v; want %d", text, got, ok, at.UnixMicro())
				}
			}
		}
	}
}

func TestClockRefuses(t *testing.T) {
	for _, s := range []string{
		"", "-", "2026", "32/Jan/2026:12:00:00 +0000", "01/Jan/2026:24:00:00 +0000", "01/Jan/2026:12:00:00 *0000", "01/Jan/2026:12:00:00 +00",
		"2026-13-01T00:00:00Z", "2026-01-01T00:00", "2026-01-01X00:00:00Z", "177236640", "17723664000", "1772366400.12x", "-1772366400",
	} {
		if m, ok := (clock{}).parse([]byte(s)); ok {
			t.Errorf("%q is %v", s, m)
		}
	}
}

func TestFold(t *testing.T) {
	for path, want := range map[string]string{
		"/orders":                   "/orders",
		"/orders/123?x=1":           "/orders/{id}",
		"/api/v2/oauth2/token":      "/api/v2/oauth2/token",
		"/u/ann@example.com/avatar": "/u/{id}/avatar",
		"/o/550e8400-e29b-41d4-a716-446655440000/pay": "/o/{id}/pay",
		"/o/SO20260301-7":          "/o/{id}",
		"/f/d41d8cd98f00b204":      "/f/{id}",
		"/feedface":                "/feedface",
		"/index.php;jsessionid=1":  "/index.php",
		"https://shop.example/a/1": "/a/{id}",
		"/%E4%B8%8B%E5%8D%95":      "/%E4%B8%8B%E5%8D%95",
		"/2026.03":                 "/{id}",
		"/ab1234":                  "/{id}",
		"/ab123":                   "/ab123",
		"/0badf00d":                "/{id}",
		"/0badf00":                 "/0badf00",
		"/404.html":                "/404.html",
		"":                         "",
	} {
		if got := fold(path); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
}

func TestSlowIsTenSeconds(t *testing.T) {
	for value, want := range map[string]bool{"9.999": false, "10.0": true, "10": true, "-": false, "": false} {
		var e entry
		e.set(seconds, []byte(value))
		if isSlow(&e) != want {
			t.Errorf("%s s: %v", value, !want)
		}
	}
	for value, want := range map[string]bool{"9999999": false, "10000000": true} {
		var e entry
		e.set(micros, []byte(value))
		if isSlow(&e) != want {
			t.Errorf("%s µs: %v", value, !want)
		}
	}
}

func TestAStatusThatIsNoneIsZero(t *testing.T) {
	s, err := newScanner(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "-", "x"} {
		e := entry{method: []byte("POST"), path: []byte("/")}
		e.set(status, []byte(text))
		if w := s.reader.write(&e, 0); w.status != 0 {
			t.Errorf("%q is %d", text, w.status)
		}
	}
}
