package scan_test

import (
	gobytes "bytes"
	"compress/gzip"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/nebis-dev/nebis/cmd/internal/report"
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

// A log in which every write is a repeat of itself would be found guilty.
func TestALogThatComesTwiceIsReadOnce(t *testing.T) {
	text := styles[1].text(post(0), post(100), post(101))
	log := file(t, "access.log", text)
	link := filepath.Join(t.TempDir(), "link.log")
	if err := os.Symlink(log, link); err != nil {
		t.Fatal(err)
	}
	for name, again := range map[string]string{"itself": log, "a link": link, "a copy, compressed": file(t, "access.log.1.gz", zipped(t, text))} {
		r := files(t, log, again)
		if r.Writes != 3 || r.Repeated != 1 || len(r.Files) != 2 || r.Files[0].Twin+r.Files[1].Twin != log {
			t.Errorf("%s: %d writes, %d repeated, %+v", name, r.Writes, r.Repeated, r.Files)
		}
		if limits := r.Page(report.English).Limits; !strings.Contains(limits[3], "was read once") {
			t.Errorf("%s: nothing of it in %q", name, limits)
		}
	}
	if r := files(t, log, file(t, "other.log", styles[1].text(post(0), post(100), post(200)))); r.Writes != 6 {
		t.Errorf("%d writes in two logs that begin alike", r.Writes)
	}
	empty := file(t, "a.log", "")
	if r := files(t, empty, file(t, "b.log", "")); r.Files[0].Twin+r.Files[1].Twin != "" {
		t.Errorf("two empty logs are taken for one: %+v", r.Files)
	}
}

// A pipe, such as <(zcat …) of a shell, cannot be opened a second time.
func TestAPipeIsReadWhole(t *testing.T) {
	name := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Skip(err)
	}
	var requests []request
	for i := range 10_000 {
		requests = append(requests, post(float64(i*4)))
	}
	wrote := make(chan error, 1)
	go func() { wrote <- os.WriteFile(name, []byte(styles[1].text(requests...)), 0) }()
	if r := files(t, name); r.Writes != len(requests) || r.Repeated != len(requests)-1 {
		t.Errorf("%d writes of %d, %d repeated", r.Writes, len(requests), r.Repeated)
	}
	if err := <-wrote; err != nil {
		t.Error(err)
	}
}

func TestALogThatIsAnotherIsNamed(t *testing.T) {
	other := file(t, "error.log", "2026/03/01 12:00:00 [error] 1#1: no\nand so on\n")
	r := files(t, file(t, "access.log", styles[1].text(post(0), post(1))+"rubbish\n"), other)
	if r.Lines != 5 || r.Broken != 3 || r.Repeated != 1 {
		t.Errorf("%d lines, %d broken, %d repeated", r.Lines, r.Broken, r.Repeated)
	}
	limits := strings.Join(r.Page(report.English).Limits, "\n")
	if !strings.Contains(limits, "No line of "+report.Clean(other)) || strings.Contains(limits, "access.log") {
		t.Errorf("it says %s", limits)
	}
}

func TestProgressCountsWhatIsReadOnce(t *testing.T) {
	text := styles[1].text(post(0), post(1))
	for _, name := range []string{scan.Stdin, file(t, "access.log", text)} {
		read := 0
		_, err := scan.Run(t.Context(), []string{name}, &scan.Options{Stdin: strings.NewReader(text), Progress: func(n int) { read += n }})
		if err != nil || read != len(text) {
			t.Errorf("%s: %d bytes of %d, %v", name, read, len(text), err)
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
	wantFact(t, r, "access.log.gz: its end is missing", "access.log.gz：缺少结尾部分")
}

// wantFact looks for the end of a value in both languages.
func wantFact(t *testing.T, r *scan.Result, en, zh string) {
	t.Helper()
	for l, want := range map[report.Lang]string{report.English: en, report.Chinese: zh} {
		facts := r.Page(l).Facts
		if !slices.ContainsFunc(facts, func(f report.Fact) bool { return strings.HasSuffix(f.Value, want) }) {
			t.Errorf("nothing says %q: %v", want, facts)
		}
	}
}

func TestADamagedGzipIsToldInTheLanguageOfTheReport(t *testing.T) {
	whole := []byte(zipped(t, styles[1].text(post(0), post(1))))
	whole[len(whole)-8] ^= 1 // of the checksum
	wantFact(t, files(t, file(t, "access.log.gz", string(whole))), "access.log.gz: damaged", "access.log.gz：数据已损坏")
}

func TestWhatCannotBeReadIsAnError(t *testing.T) {
	folder := t.TempDir()
	for name, want := range map[string]string{
		folder:                                  "is a folder",
		folder + "/none.log":                    "no such file",
		file(t, "text", "Lorem ipsum\ndolor\n"): `begins "Lorem ipsum"`,
		file(t, "bad.gz", "\x1f\x8bnot gzip at all, but long enough"): "gzip",
		file(t, "a.xz", "\xfd7zXZ\x00rest"):                           "xz -dc",
		file(t, "a.bz2", "BZh91AY&SY"):                                "bzip2 -dc",
		file(t, "a.zst", "\x28\xb5\x2f\xfdrest"):                      "zstd -dc",
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
