package scan_test

import (
	gobytes "bytes"
	"compress/gzip"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/nebis-dev/nebis/cmd/internal/scan"
)

func zipped(t testing.TB, text string) string {
	t.Helper()
	var b gobytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func files(t testing.TB, names ...string) *scan.Result {
	t.Helper()
	r, err := scan.Run(t.Context(), names, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRotatedLogsAreOneLog(t *testing.T) {
	s := styles[1]
	newest := file(t, "access.log", s.text(post(302), post(400)))
	middle := file(t, "access.log.1", s.text(post(102), post(300)))
	oldest := file(t, "access.log.2.gz", zipped(t, s.text(post(0), post(100))))
	r := files(t, newest, middle, oldest) // as a shell names them
	if r.Repeated != 2 || r.Late != 0 || len(r.Files) != 3 {
		t.Errorf("%d repeated, %d late, %d files; want 2, one over each edge", r.Repeated, r.Late, len(r.Files))
	}
}

func TestLogsOfSeveralServersAreMerged(t *testing.T) {
	var a, b []request
	for i := range 200 {
		a = append(a, post(float64(i*100)))
		b = append(b, post(float64(i*100+3)))
	}
	for _, s := range styles[1:2] {
		r := files(t, file(t, "a.log", s.text(a...)), file(t, "b.log.gz", zipped(t, s.text(b...))))
		if r.Repeated != 200 || r.Late != 0 {
			t.Errorf("%d repeated, %d late; every write on one server was repeated on the other", r.Repeated, r.Late)
		}
	}
}

func TestGzipFromStandardInput(t *testing.T) {
	if r := run(t, zipped(t, styles[1].text(post(0), post(1))), nil); r.Repeated != 1 {
		t.Errorf("%d repeated", r.Repeated)
	}
}

func TestATruncatedGzipCountsAsFarAsItGoes(t *testing.T) {
	var requests []request
	for i := range 5000 {
		requests = append(requests, post(float64(i*3)))
	}
	whole := zipped(t, styles[1].text(requests...))
	r := files(t, file(t, "access.log.gz", whole[:len(whole)*2/3]))
	if r.Repeated < 100 || r.Repeated >= 4999 || r.Broken != 0 {
		t.Errorf("%d repeated, %d broken", r.Repeated, r.Broken)
	}
	if !strings.Contains(r.Files[0].Trail, "unexpected EOF") {
		t.Errorf("it does not say that the file breaks off: %+v", r.Files)
	}
}

func TestWhatCannotBeReadIsAnError(t *testing.T) {
	folder := t.TempDir()
	for name, want := range map[string]string{
		folder:                                  "is a folder",
		folder + "/none.log":                    "no such file",
		file(t, "text", "Lorem ipsum\ndolor\n"): `begins "Lorem ipsum"`,
		file(t, "bad.gz", "\x1f\x8bnot gzip at all, but long enough"): "gzip",
	} {
		if _, err := scan.Run(t.Context(), []string{name}, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", name, err, want)
		}
	}
}

func TestAnEmptyLogHasNoWrites(t *testing.T) {
	if r := files(t, file(t, "access.log", "")); r.Lines != 0 || r.Found() {
		t.Errorf("%+v", r)
	}
}

func TestAnEndedContextEndsTheScan(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := scan.Run(ctx, []string{file(t, "access.log", styles[1].text(post(0)))}, nil)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
