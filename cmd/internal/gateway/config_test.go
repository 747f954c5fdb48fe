package gateway

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
)

// whole has every field, in every form that a value can take.
const whole = `addr: 127.0.0.1:8080
upstream: http://127.0.0.1:8081
db: sqlite:nebis-gateway.db
trusted_proxies: [127.0.0.1/32, 10.1.2.3/8, "::1"]
metrics: 127.0.0.1:9464
owner: visitor            # visitor | cookie:NAME | header:NAME | none
clean: 1h30m
forms: ["GET /checkout*"]
routes:
  - match: POST /checkout
    scope: order          # default: the path
    key: [form:idempotency_key, header:idempotency-key, json:/order/key, query:k, "form:trade_no+trade_status"]
    kind: form
    required: false
    success: { status: 200-399, body: "", json: "", not_location: "/login" }
    on_upstream_error: unknown
    verify: ""
    look: /my/orders
    on_store_error: closed
    keep: 24h
    keep_seen: 90d
    wait: 25s
    deadline: 60s
    max_body: 1MiB
  - match: /notify/{name}.php?type=pay
    key: query:trade_no
    kind: callback
    success: { status: "200,204,300-303", body: "success", json: "/code=0" }
    required: true
    on_upstream_error: free
    permit: /may?do=pay
    verify: /orders/ask
    on_store_error: open
    max_body: 65536
`

func read(t *testing.T, text string) Config {
	t.Helper()
	c, err := ReadFile(strings.NewReader(text), "nebis.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestTheFileSaysEverything(t *testing.T) {
	c := read(t, whole)
	if err := c.Settle(); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := c.Print(&out); err != nil {
		t.Fatal(err)
	}
	want := `addr: 127.0.0.1:8080
upstream: http://127.0.0.1:8081
db: sqlite:nebis-gateway.db
trusted_proxies: [127.0.0.1/32, 10.0.0.0/8, "::1/128"]
owner: visitor
clean: 1h30m
metrics: 127.0.0.1:9464
metrics_public: false
forms: ["GET /checkout*"]
routes:
  - match: POST /checkout
    scope: order
    key: [form:idempotency_key, header:Idempotency-Key, json:/order/key, query:k, form:trade_no+trade_status]
    kind: form
    required: false
    success:
      status: 200-399
      body: ""
      json: ""
      not_location: /login
    on_upstream_error: unknown
    permit: ""
    verify: ""
    look: /my/orders
    on_store_error: closed
    keep: 24h
    keep_seen: 90d
    wait: 25s
    deadline: 1m
    max_body: 1MiB
  - match: "/notify/{name}.php?type=pay"
    scope: "/notify/{name}.php"
    key: [query:trade_no]
    kind: callback
    required: true
    success:
      status: "200,204,300-303"
      body: success
      json: /code=0
      not_location: ""
    on_upstream_error: free
    permit: "/may?do=pay"
    verify: /orders/ask
    look: /
    on_store_error: open
    keep: 35d
    keep_seen: 0s
    wait: 3s
    deadline: 1m
    max_body: 64KiB
`
	if out.String() != want {
		t.Errorf("printed:\n%s", out.String())
	}
	var again bytes.Buffer
	back := read(t, want)
	if err := errors.Join(back.Settle(), back.Print(&again)); err != nil || again.String() != want {
		t.Errorf("read back it is another: %v\n%s", err, again.String())
	}
}

func TestDefaults(t *testing.T) {
	c := read(t, "upstream: http://127.0.0.1:8081\nroutes:\n- match: POST /checkout\n")
	if err := c.Settle(); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	_ = c.Print(&out)
	for _, line := range []string{
		"addr: 127.0.0.1:8080", "db: sqlite:nebis-gateway.db", `trusted_proxies: [127.0.0.1/32, "::1/128"]`, "owner: visitor",
		"clean: 10m", `metrics: ""`, "metrics_public: false", "forms: []",
		"scope: /checkout", "key: [form:idempotency_key, header:Idempotency-Key]", `kind: ""`, "required: false", "status: 200-399", `body: ""`,
		"on_upstream_error: unknown", "on_store_error: closed", "keep: 24h", `wait: ""`, "deadline: 1m", "max_body: 1MiB",
	} {
		if !strings.Contains(out.String(), line+"\n") {
			t.Errorf("%q is missing in\n%s", line, out.String())
		}
	}
	r := c.Routes[0]
	if got := []time.Duration{r.WaitFor(Form), r.WaitFor(API), r.WaitFor(Callback)}; !reflect.DeepEqual(got, []time.Duration{25 * time.Second, 2 * time.Second, 3 * time.Second}) {
		t.Errorf("it waits %v", got)
	}
	if empty := read(t, "# nothing\n"); !reflect.DeepEqual(empty, Default()) {
		t.Errorf("an empty file is %+v", empty)
	}
}

func TestAMistakeInTheFileIsToldWithItsLineAndField(t *testing.T) {
	const head = "upstream: http://127.0.0.1:8081\nroutes:\n- match: POST /checkout\n"
	for _, c := range []struct{ text, says string }{
		{"upstream: 127.0.0.1:8081", `nebis.yaml:1: upstream: "127.0.0.1:8081" is not like http://`},
		{"addr: a:1\nupstream: ftp://x", `nebis.yaml:2: upstream: "ftp://x" is not like http://`},
		{"upstream: http://ann:s3cret@x", "nebis.yaml:1: upstream: it has a user name"},
		{"upstream: http://x/shop", `nebis.yaml:1: upstream: "http://x/shop": give scheme, host and port only`},
		{"addr: '8080'", `nebis.yaml:1: addr: "8080" is not HOST:PORT`},
		{"metrics: here", `nebis.yaml:1: metrics: "here" is not HOST:PORT`},
		{"metrics_public: yes", `nebis.yaml:1: metrics_public: "yes" is not true or false`},
		{"db: oracle:x", "nebis.yaml:1: db: unknown kind of database"},
		{"routes:\n- match: POTS /order.php", `nebis.yaml:2: routes[0].match: "POTS /order.php": "POTS" is none of the methods`},
		{"forms: [HEAD /x]", `nebis.yaml:1: forms[0]: "HEAD /x": "HEAD" is none of the methods`},
		{"adr: x", `nebis.yaml:1: adr: unknown field "adr"; there are addr, clean, db, `},
		{"addr: a:1\naddr: b:1", "nebis.yaml:2: addr: the field is there twice"},
		{"addr:\n", "nebis.yaml:1: addr: a value is missing"},
		{"addr: [a]\n", "nebis.yaml:1: addr: a value is missing"},
		{"- addr", "nebis.yaml:1: here should be fields"},
		{"addr: 'x", "nebis.yaml: "},
		{"addr: a:1\n---\naddr: b:1", "more than one document"},
		{"trusted_proxies: [127.0.0.1/32,\n  local]", `nebis.yaml:2: trusted_proxies[1]: "local" is not an address range`},
		{"clean: never", `nebis.yaml:1: clean: "never" is not off, or a time`},
		{"clean: 1ms", `nebis.yaml:1: clean: "1ms" is not off, or a time`},
		{"owner: visiter", `nebis.yaml:1: owner: "visiter" is not visitor, cookie:NAME`},
		{"owner: 'cookie:a b'", "nebis.yaml:1: owner: "},
		{"forms: GET checkout", `nebis.yaml:1: forms[0]: "GET checkout": the path begins with a slash`},
		{"routes: POST /x", "nebis.yaml:1: routes: here should be a list"},
		{"routes:\n- POST /x", "nebis.yaml:2: routes[0]: here should be fields"},
		{"routes:\n- scope: x", "nebis.yaml:2: routes[0]: match is missing"},
		{head + "  kinds: form", `nebis.yaml:4: routes[0].kinds: unknown field "kinds"`},
		{head + "  kind: forms", `nebis.yaml:4: routes[0].kind: "forms" is not form or api or callback`},
		{head + "  scope: a b", "nebis.yaml:4: routes[0].scope: "},
		{head + "  key: []", "nebis.yaml:4: routes[0].key: the list is empty"},
		{head + "  key:\n  - form:a\n  - from:b", `nebis.yaml:6: routes[0].key[1]: "from:b": it is not like form:NAME`},
		{head + "  key: json:order", "routes[0].key[0]"},
		{head + "  key: form:a+", "routes[0].key[0]"},
		{head + "  key: 'header:a b'", "routes[0].key[0]"},
		{head + "  required: maybe", `nebis.yaml:4: routes[0].required: "maybe" is not true or false`},
		{head + "  success: 200", "nebis.yaml:4: routes[0].success: here should be fields"},
		{head + "  success:\n    stat: 200", `nebis.yaml:5: routes[0].success.stat: unknown field "stat"`},
		{head + "  success: {status: 399-200}", "nebis.yaml:4: routes[0].success.status: "},
		{head + "  success: {status: 99}", "routes[0].success.status: "},
		{head + "  success: {status: 2xx}", "routes[0].success.status: "},
		{head + "  success: {json: code=0}", "routes[0].success.json: "},
		{head + "  success: {not_location: login}", "routes[0].success.not_location: "},
		{head + "  on_upstream_error: ignore", `routes[0].on_upstream_error: "ignore" is not unknown or free`},
		{head + "  on_store_error: shut", `routes[0].on_store_error: "shut" is not closed or open`},
		{head + "  verify: ask", "routes[0].verify: "},
		{head + "  permit: http://other.test/may", "routes[0].permit: "},
		{head + "  permit: //other.test/may", "routes[0].permit: "},
		{head + "  permit: /may?key={key}", "routes[0].permit: "},
		{head + "  permit: /may order", "routes[0].permit: "},
		{head + "  keep: 24", `routes[0].keep: "24" is not a duration such as 25s`},
		{head + "  keep_seen: -1h", "routes[0].keep_seen: "},
		{head + "  keep: 0s", "routes[0].keep: it must be more than nothing"},
		{head + "  wait: -1s", "routes[0].wait: "},
		{head + "  wait: 9999999h", "routes[0].wait: "},
		{head + "  deadline: 1.5d", "routes[0].deadline: "},
		{head + "  max_body: 1MB1", "routes[0].max_body: "},
		{head + "  max_body: 9999999999GiB", "routes[0].max_body: "},
		{head + "  max_body: 0", "routes[0].max_body: "},
		{head + "  kind: callback", "nebis.yaml:3: routes[0]: success: a callback is not acknowledged by its status alone"},
		{"routes:\n- match: POST /" + strings.Repeat("long", 20), "nebis.yaml:2: routes[0]: scope: the path cannot be one"},
	} {
		_, err := ReadFile(strings.NewReader(c.text), "nebis.yaml")
		if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q:\n%v\nwanted %q", c.text, err, c.says)
		}
	}
}

func TestAllMistakesAreToldAtOnce(t *testing.T) {
	_, err := ReadFile(strings.NewReader("owner: x\nforms: [y]\nroutes:\n- match: POST /a\n  keep: z\n"), "f")
	for _, want := range []string{"f:1: owner", "f:2: forms[0]", "f:5: routes[0].keep"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in %v", want, err)
		}
	}
}

func TestFlagsWinOverTheEnvironmentAndThatOverTheFile(t *testing.T) {
	c := read(t, whole)
	environment := map[string]string{
		"NEBIS_ADDR": "127.0.0.1:1", "NEBIS_DB": "sqlite:env.db", "NEBIS_OWNER": "none", "NEBIS_UPSTREAM": "",
		"NEBIS_FORMS": "GET /a,GET /b\nGET /c", "NEBIS_PROTECT": "POST /env", "NEBIS_TRUSTED_PROXIES": "10.0.0.1",
		"NEBIS_METRICS": ":9", "NEBIS_METRICS_PUBLIC": "true",
	}
	overrides := append(FromEnvironment(func(n string) string { return environment[n] }),
		Override{"addr", "--addr", []string{"127.0.0.1:2"}},
		Override{"protect", "--protect", []string{"POST /checkout", "POST /flag"}})
	if err := c.Apply(overrides); err != nil {
		t.Fatal(err)
	}
	if c.Addr != "127.0.0.1:2" || c.DB != "sqlite:env.db" || c.Owner.Kind != "none" || c.Upstream != "http://127.0.0.1:8081" {
		t.Errorf("got %+v", c)
	}
	if len(c.Forms) != 3 || c.Forms[2].String() != "GET /c" || len(c.TrustedProxies) != 1 || c.Metrics != ":9" || !c.MetricsPublic {
		t.Errorf("got %+v", c)
	}
	// "POST /checkout" was replaced by NEBIS_PROTECT before the flag came.
	if len(c.Routes) != 2 || c.Routes[1].Match.String() != "POST /flag" {
		t.Errorf("the routes are %+v", c.Routes)
	}
	err := c.Apply([]Override{{"owner", "NEBIS_OWNER", []string{"x"}}, {"forms", "--forms", []string{"nowhere"}}})
	if err == nil || !strings.Contains(err.Error(), "NEBIS_OWNER: ") || !strings.Contains(err.Error(), "--forms: ") {
		t.Errorf("the mistakes are %v", err)
	}
}

func TestARouteKeepsWhatTheFileSaysOfIt(t *testing.T) {
	c := read(t, whole)
	if err := c.Apply([]Override{{"protect", "--protect", []string{"POST  /checkout"}}}); err != nil {
		t.Fatal(err)
	}
	if len(c.Routes) != 1 || c.Routes[0].Scope != "order" {
		t.Errorf("the routes are %+v", c.Routes)
	}
}

// Numbers tell how the business goes: nobody else reads them by a slip.
func TestMetricsAreForThisMachineUnlessItIsSaid(t *testing.T) {
	for addr, fine := range map[string]bool{
		"": true, "127.0.0.1:1": true, "[::1]:1": true, "localhost:1": true, "[::ffff:127.0.0.1]:1": true,
		":1": false, "0.0.0.0:1": false, "[::]:1": false, "10.0.0.1:1": false, "shop.example:1": false, "localhost.shop.example:1": false,
	} {
		if err := Metrics(addr, false); fine != (err == nil) || err != nil && !errors.Is(err, ErrMetricsPublic) {
			t.Errorf("%q: %v", addr, err)
		}
		if err := Metrics(addr, true); err != nil {
			t.Errorf("%q, public: %v", addr, err)
		}
	}
	c := read(t, "upstream: http://127.0.0.1:8081\nmetrics: ':9464'\n")
	if err := c.Settle(); !errors.Is(err, ErrMetricsPublic) {
		t.Errorf("the file may say :9464: %v", err)
	}
}
