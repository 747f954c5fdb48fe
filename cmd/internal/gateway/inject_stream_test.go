package gateway

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestChunksDoNotMatter(t *testing.T) {
	page := strings.Repeat(`<p class='a "b"'>x</p><!-- c --><form method=post action='/a'><input name=b></form>`, 40)
	want := readable(injected(t, page, ownFacts()))
	for name, src := range map[string]io.Reader{
		"one byte":          iotest.OneByteReader(strings.NewReader(page)),
		"half":              iotest.HalfReader(strings.NewReader(page)),
		"data with its end": iotest.DataErrReader(strings.NewReader(page)),
	} {
		out, err := io.ReadAll(newInjector(src, ownFacts()))
		if err != nil || readable(string(out)) != want {
			t.Errorf("%s: %v, %d bytes, wanted %d", name, err, len(out), len(want))
		}
	}
	if n := strings.Count(want, "[KEY]"); n != 40 {
		t.Errorf("%d forms have a key", n)
	}
}

func TestWhatHasComeIsPassedOnBeforeMoreComes(t *testing.T) {
	in, out := io.Pipe()
	page := newInjector(in, ownFacts())
	first := `<p>working</p><form method=post></form>`
	go out.Write([]byte(first))
	got := ""
	buf := make([]byte, 100)
	for !strings.Contains(got, "</form>") {
		n, err := page.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		got += string(buf[:n])
	}
	if readable(got) != `<p>working</p><form data-nebis method=post>[KEY][SCRIPT]</form>` {
		t.Errorf("got %s", got)
	}
	out.Close()
}

func TestALongFormGetsItsKeyAtItsEnd(t *testing.T) {
	long := strings.Repeat("<p>line</p>", maxForm/8)
	page := `<form method=post>` + long + `</form>x`
	if got := readable(injected(t, page, ownFacts())); got != `<form data-nebis method=post>`+long+`[KEY][SCRIPT]</form>x` {
		t.Errorf("it ends with %s", got[len(got)-60:])
	}
	own := `<form method=post>` + long + `<input name=idempotency_key></form>x`
	if got := readable(injected(t, own, ownFacts())); got != `<form data-nebis method=post>`+long+`<input name=idempotency_key></form>x` {
		t.Errorf("with a key of its own it ends with %s", got[len(got)-60:])
	}
}

func TestAfterATokenThatIsTooLongTheRestIsLeftAlone(t *testing.T) {
	const most = 1 << 10 // in place of maxToken
	long := `<script>` + strings.Repeat("x", 10*most) + `</script>`
	for _, c := range []struct{ page, want string }{
		{`<form method=post></form>` + long + `<form method=post></form>`, `<form data-nebis method=post>[KEY][SCRIPT]</form>` + long + `<form method=post></form>`},
		// Nobody knows whether this form has a key.
		{`<form method=post>` + long + `<input name=idempotency_key></form>`, `<form method=post>` + long + `<input name=idempotency_key></form>`},
	} {
		in := newInjector(strings.NewReader(c.page), ownFacts())
		in.z.SetMaxBuf(most)
		out, err := io.ReadAll(in)
		if err != nil || readable(string(out)) != c.want {
			t.Errorf("%v\n%s\nwanted\n%s", err, readable(string(out)), c.want)
		}
	}
}

// endlessPage repeats a part of a page.
type endlessPage struct {
	part string
	left int
	at   int
}

func (p *endlessPage) Read(b []byte) (int, error) {
	if p.left <= 0 {
		return 0, io.EOF
	}
	n := min(copy(b, p.part[p.at:]), p.left)
	p.at = (p.at + n) % len(p.part)
	p.left -= n
	return n, nil
}

func TestAHugePageIsNotHeldInMemory(t *testing.T) {
	const size = 8 << 20
	in := newInjector(&endlessPage{part: `<p>` + strings.Repeat("text ", 50) + `</p><form method=post></form>`, left: size}, ownFacts())
	most := 0
	buf := make([]byte, 64<<10)
	total := 0
	for {
		n, err := in.Read(buf)
		total += n
		held := cap(in.out) + cap(in.pending)
		if in.form != nil {
			held += cap(in.form.held)
		}
		most = max(most, held)
		if err != nil {
			break
		}
	}
	if total < size || most > 1<<20 {
		t.Errorf("%d bytes came out, and %d were held", total, most)
	}
}
