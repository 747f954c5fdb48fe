package gateway

import (
	"io"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/text/encoding/simplifiedchinese"
)

// The insertions, as they look in a page.
var (
	fieldRE  = regexp.MustCompile(`<input type="hidden" name="idempotency_key" value="[0-9a-f-]{36}" autocomplete="off" data-nebis-renew>`)
	scriptRE = regexp.MustCompile(`<script src="/\.nebis/client\.js\?v=[0-9a-f]{16}" defer( nonce="[^"]*")?></script>`)
)

func ownFacts(policies ...string) pageFacts {
	hosts := []string{"shop.example"}
	f := pageFacts{hosts: hosts, policy: scriptPolicy{hosts: hosts}, script: true}
	for _, p := range policies {
		f.policy.add(p)
	}
	return f
}

func injected(t *testing.T, page string, facts pageFacts) string {
	t.Helper()
	out, err := io.ReadAll(newInjector(strings.NewReader(page), facts))
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// readable writes the insertions short.
func readable(page string) string {
	page = fieldRE.ReplaceAllString(page, "[KEY]")
	return scriptRE.ReplaceAllString(page, "[SCRIPT$1]")
}

func TestAFormGetsItsKey(t *testing.T) {
	for _, c := range []struct{ page, want string }{
		{`<form method="post">x</form>`, `<form data-nebis method="post">[KEY][SCRIPT]x</form>`},
		{`<FORM METHOD=POST ACTION=/pay>`, `<FORM data-nebis METHOD=POST ACTION=/pay>[KEY][SCRIPT]`},
		{`<form method=post data-nebis>`, `<form method=post data-nebis>[KEY][SCRIPT]`},
		{`<form method=post><form method=post></form>`, `<form data-nebis method=post>[KEY][SCRIPT]<form method=post></form>`},
		{"<form\r\nmethod='Post'\r\n>a</form>\r\n<form method=post>b</form>", "<form data-nebis\r\nmethod='Post'\r\n>[KEY][SCRIPT]a</form>\r\n<form data-nebis method=post>[KEY]b</form>"},
		{`<table><form method=post><tr><td></form></table>`, `<table><form data-nebis method=post>[KEY][SCRIPT]<tr><td></form></table>`},
		{`<form method=post/>`, `<form method=post/>`}, // the method is "post/"
		{`<form/method=post>`, `<form data-nebis/method=post>[KEY][SCRIPT]`},
		{`<form method=post action="">`, `<form data-nebis method=post action="">[KEY][SCRIPT]`},
		{`<form method=post method=get>`, `<form data-nebis method=post method=get>[KEY][SCRIPT]`},
		{`<form method=post action="https://SHOP.example:443/pay">`, `<form data-nebis method=post action="https://SHOP.example:443/pay">[KEY][SCRIPT]`},
		{`<form method=post action="https://ann@shop.example/">`, `<form data-nebis method=post action="https://ann@shop.example/">[KEY][SCRIPT]`},
		{`<form method=post action="//shop.example/pay?a:b">`, `<form data-nebis method=post action="//shop.example/pay?a:b">[KEY][SCRIPT]`},
		{`<form method=post action="?step=done&amp;u=http://x/">`, `<form data-nebis method=post action="?step=done&amp;u=http://x/">[KEY][SCRIPT]`},
		{`<base href="/shop/"><form method=post action=pay>`, `<base href="/shop/"><form data-nebis method=post action=pay>[KEY][SCRIPT]`},
		{`<svg><title/></svg><form method=post>`, `<svg><title/></svg><form data-nebis method=post>[KEY][SCRIPT]`},
		{`<form method=post><button formaction="/other">`, `<form data-nebis method=post>[KEY][SCRIPT]<button formaction="/other">`},
		{`<form method=post><input form=other name=idempotency_key></form>`, `<form data-nebis method=post>[KEY][SCRIPT]<input form=other name=idempotency_key></form>`},
		{`<form method=post><template><input name=idempotency_key></template></form>`, `<form data-nebis method=post>[KEY][SCRIPT]<template><input name=idempotency_key></template></form>`},
		{`<form method=post>unfinished <inp`, `<form data-nebis method=post>[KEY][SCRIPT]unfinished <inp`},
		{"\ufeff<!doctype html>\n<form method=post>", "\ufeff<!doctype html>\n<form data-nebis method=post>[KEY][SCRIPT]"},
	} {
		if got := readable(injected(t, c.page, ownFacts())); got != c.want {
			t.Errorf("%s\nbecame %s\nwanted %s", c.page, got, c.want)
		}
	}
}

func TestWhatIsNoFormOfOursStaysAsItIs(t *testing.T) {
	for _, page := range []string{
		``, `plain`, `<form>`, `<form method=get>`, `<form method=dialog>`, `<form method=" post">`, `</form>`, `<form method=post`,
		`<form method=post action="https://bank.example/pay">`,
		`<form method=post action="//bank.example/pay">`,
		`<form method=post action="/\bank.example/pay">`,
		`<form method=post action="` + "\n/\t/bank.example" + `">`,
		`<form method=post action="https://shop.example@bank.example/">`,
		`<form method=post action="https://shop.example.bank.example/">`,
		`<form method=post action="http://shop.example:8080/">`,
		`<form method=post action="https:shop">`,
		`<form method=post action="&#104;ttps://bank.example/">`,
		`<form method=post action="javascript:send()">`,
		`<form method=post action="mailto:a@shop.example">`,
		`<base href="https://bank.example/"><form method=post action=pay>`,
		`<form method=post data-nebis="off">`,
		`<form method=post data-nebis="OFF"><input></form>`,
		`<form method=post><p><input name="idempotency_key" value=k></form>`,
		`<form method=post><input name="a" name="x"><textarea name=idempotency_key></textarea></form>`,
		`<form method=post><button formaction="https://bank.example/">`,
		`<form method=get><form method=post></form>`,
		`<!-- <form method=post> --><form>`,
		`<script>"<form method=post>"</script>`,
		`<script><!-- <script> <form method=post> </script> --></script>`,
		`<style>/*<form method=post>*/</style>`,
		`<textarea><form method=post></form></textarea>`,
		`<title><form method=post></title>`,
		`<noscript><form method=post></form></noscript>`,
		`<iframe><form method=post></iframe>`,
		`<xmp><form method=post></xmp>`,
		`<plaintext><form method=post>`,
		`<template><form method=post></form></template>`,
		`<template><template></template><form method=post></form></template>`,
		`<svg><![CDATA[ > <form method=post> ]]></svg>`,
		`<p title="<form method=post>">`,
		`<formmethod=post><form-x method=post>`,
		`<meta charset="iso-2022-jp"><form method=post></form>`,
		`<meta http-equiv=Content-Type content="text/html; charset=hz-gb-2312"><form method=post></form>`,
		"<\x00f\x00o\x00r\x00m\x00 \x00m\x00e\x00t\x00h\x00o\x00d\x00=\x00p\x00o\x00s\x00t\x00>\x00",
	} {
		if got := injected(t, page, ownFacts()); got != page {
			t.Errorf("%q\nbecame %q", page, got)
		}
	}
}

func TestTheScriptObeysThePagesPolicy(t *testing.T) {
	const page, none = `<form method=post></form>`, `[KEY]`
	for _, c := range []struct {
		policies []string
		want     string
	}{
		{nil, "[SCRIPT]"},
		{[]string{"img-src 'none'"}, "[SCRIPT]"},
		{[]string{"default-src 'self'"}, "[SCRIPT]"},
		{[]string{"script-src 'self'; default-src 'none'"}, "[SCRIPT]"},
		{[]string{"default-src 'none'; SCRIPT-SRC shop.example"}, "[SCRIPT]"},
		{[]string{"script-src https://shop.example"}, "[SCRIPT]"},
		{[]string{"script-src https:"}, "[SCRIPT]"},
		{[]string{"script-src 'nonce-aB+/='"}, `[SCRIPT nonce="aB+/="]`},
		{[]string{"script-src 'self' 'nonce-ab' 'strict-dynamic'"}, `[SCRIPT nonce="ab"]`},
		{[]string{"script-src 'nonce-ab'", "script-src 'self'"}, `[SCRIPT nonce="ab"]`},
		{[]string{"script-src 'nonce-ab' 'nonce-cd', default-src 'nonce-cd'"}, `[SCRIPT nonce="cd"]`},
		{[]string{`script-src 'nonce-a"b'`}, `[SCRIPT nonce="a&#34;b"]`},
		{[]string{"default-src 'none'"}, ""},
		{[]string{"script-src 'nonce-ab'", "script-src 'nonce-cd'"}, ""},
		{[]string{"script-src 'self' 'strict-dynamic' 'sha256-x'"}, ""},
		{[]string{"script-src https://cdn.example"}, ""},
		{[]string{"script-src https://shop.example/js/"}, ""},
		{[]string{"script-src-elem 'none'; script-src 'self'"}, ""},
		{[]string{"script-src 'none'; script-src 'self'"}, ""},
	} {
		got := readable(injected(t, page, ownFacts(c.policies...)))
		if want := `<form data-nebis method=post>[KEY]` + c.want + `</form>`; got != want {
			t.Errorf("%q: %s, wanted %s", c.policies, got, want)
		}
	}
	meta := `<meta http-equiv="Content-Security-Policy" content="script-src 'nonce-ab'">` + page
	if got := readable(injected(t, meta, ownFacts())); !strings.Contains(got, `[SCRIPT nonce="ab"]`) {
		t.Errorf("with a policy in the page: %s", got)
	}
	fragment := ownFacts()
	fragment.script = false
	if got := readable(injected(t, page, fragment)); strings.Contains(got, "[SCRIPT") || !strings.Contains(got, none) {
		t.Errorf("a fragment: %s", got)
	}
}

func TestAPageInGBKIsOtherwiseTheSame(t *testing.T) {
	text := `<meta charset=gbk><title>丂丄仠侹</title><p title="購物車乗乣">亅亇` +
		`<form method=post action="/结账"><input value="確認">囘囙</form><p>丳丵`
	page, err := simplifiedchinese.GB18030.NewEncoder().String(text)
	if err != nil {
		t.Fatal(err)
	}
	got := readable(injected(t, page, ownFacts()))
	if strings.Count(got, "[KEY]") != 1 {
		t.Fatalf("there is no key in %q", got)
	}
	without := strings.NewReplacer("[KEY]", "", "[SCRIPT]", "", " data-nebis", "").Replace(got)
	if without != page {
		t.Errorf("got  %q\nfrom %q", without, page)
	}
}
