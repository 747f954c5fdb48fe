package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// uploadSize is in bytes; NEBIS_UPLOAD=1073741824 is a measurement.
func uploadSize() int64 {
	if n, err := strconv.ParseInt(os.Getenv("NEBIS_UPLOAD"), 10, 64); err == nil {
		return n
	}
	return 256 << 20
}

// nothing is n bytes of an upload.
type nothing struct{ n int64 }

func (z *nothing) Read(p []byte) (int, error) {
	if z.n == 0 {
		return 0, io.EOF
	}
	n := min(int64(len(p)), z.n)
	z.n -= n
	return int(n), nil
}

var peakLine = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// peak is the most memory that a process has had, in MB.
func peak(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Skip("no /proc here")
	}
	kB, _ := strconv.Atoi(peakLine.FindStringSubmatch(string(text))[1])
	return kB / 1024
}

// An upload passes through, with a key and without; so does a download in answer to
// a protected write.
func TestTheGatewaysMemoryIsFlatDuringALargeUploadAndDownload(t *testing.T) {
	size := uploadSize()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		if r.URL.Path == "/export" {
			_, _ = io.Copy(w, &nothing{size})
			return
		}
		fmt.Fprint(w, n, err)
	}))
	defer site.Close()
	p := startWith(t, nil, "gateway", "--addr", "127.0.0.1:0", "--upstream", site.URL,
		"--db", "sqlite:"+filepath.Join(t.TempDir(), "g.db"), "--protect", "POST /photos", "--protect", "POST /export")
	p.listening()
	post := func(path, key string, body io.Reader) string {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.base+path, body)
		if err != nil {
			t.Fatal(err)
		}
		if key != "" {
			req.Header.Set("Idempotency-Key", key)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if path == "/export" {
			n, _ := io.Copy(io.Discard, res.Body)
			return fmt.Sprint(n)
		}
		text, _ := io.ReadAll(res.Body)
		return string(text)
	}
	post("/photos", "first", strings.NewReader("x"))
	before := peak(t, p.cmd.Process.Pid)
	want := fmt.Sprint(size)
	for _, got := range []string{
		post("/photos", "large", &nothing{size}), post("/photos", "", &nothing{size}), post("/elsewhere", "", &nothing{size}),
	} {
		if got != want+"<nil>" && got != want+" <nil>" {
			t.Errorf("the site got %s", got)
		}
	}
	if got := post("/export", "export", strings.NewReader("x")); got != want {
		t.Errorf("the client got %s", got)
	}
	after := peak(t, p.cmd.Process.Pid)
	t.Logf("%d MB: at first %d MB, at most %d MB", size>>20, before, after)
	if after-before > 64 {
		t.Errorf("its memory grew from %d to %d MB", before, after)
	}
}
