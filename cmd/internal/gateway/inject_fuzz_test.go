package gateway

import (
	"bytes"
	"io"
	"testing"
)

func FuzzBytesOutsideOfTheInsertionsAreTheSame(f *testing.F) {
	for _, s := range []string{
		`<form method=post>x</form>`, `<base href=//a><form method=post action=x><input name=idempotency_key></form>`,
		`<table><form method='post'><tr><select><option></form>`, `<svg><![CDATA[<form>]]><title/></svg><form method=post>`,
		"<form\x00method=post>\xff\xfe</form>", `<!--><form method=post>--></form><plaintext>`, `<template><form method=post></template></form>`,
		"<meta charset=gbk>\x81<form method=post>\x81\x30\x81\x30</form>", `<script><!--<script></script>--></script><form method=post>`,
		`<textarea><form method=post></textarea><form method=post data-nebis=""></form>`, "<form method=post\r\n><p\r>&amp;&#60;</form>",
	} {
		f.Add([]byte(s), uint8(0))
		f.Add([]byte(s), uint8(1))
	}
	f.Fuzz(func(t *testing.T, page []byte, chunk uint8) {
		// What looks like an insertion of ours cannot be told from one.
		if bytes.Contains(page, []byte("data-nebis-renew")) || bytes.Contains(page, []byte(clientScript)) {
			return
		}
		var src io.Reader = bytes.NewReader(page)
		if chunk > 0 {
			src = &chunked{src, int(chunk)}
		}
		in := newInjector(src, ownFacts())
		out, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(fieldRE.FindAll(out, -1)); got != in.inserted {
			t.Fatalf("%d keys, and it says %d", got, in.inserted)
		}
		out = scriptRE.ReplaceAll(fieldRE.ReplaceAll(out, nil), nil)
		if !sameButMarks(out, page) {
			t.Fatalf("%q\nbecame %q", page, out)
		}
	})
}

// chunked reads at most n bytes at once.
type chunked struct {
	io.Reader
	n int
}

func (c *chunked) Read(p []byte) (int, error) { return c.Reader.Read(p[:min(len(p), c.n)]) }

// sameButMarks compares, going past " data-nebis" right behind a "<form".
func sameButMarks(out, page []byte) bool {
	const mark = " " + marked
	for i := 0; i < len(page); i++ {
		if len(out) == 0 {
			return false
		}
		if out[0] != page[i] || bytes.HasPrefix(out, []byte(mark)) && !bytes.HasPrefix(page[i:], []byte(mark)) {
			if i < 5 || !bytes.EqualFold(page[i-5:i], []byte("<form")) || !bytes.HasPrefix(out, []byte(mark)) {
				return false
			}
			out = out[len(mark):]
			if len(out) == 0 || out[0] != page[i] {
				return false
			}
		}
		out = out[1:]
	}
	return len(out) == 0
}
