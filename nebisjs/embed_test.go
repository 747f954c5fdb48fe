package nebisjs

import (
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// budget is what one more script may cost a page.
const budget = 2000

// As gzip writes the file, with its name in it.
func TestTheScriptIsSmall(t *testing.T) {
	packed, err := exec.Command("gzip", "-9", "-c", "dist/nebis.global.min.js").Output()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes, compressed %d", len(global), len(packed))
	if len(packed) > budget {
		t.Errorf("compressed, nebis.global.min.js has %d bytes; at most %d", len(packed), budget)
	}
}

func get(path string, header ...string) *http.Response {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	Handler().ServeHTTP(w, r)
	return w.Result()
}

func TestTheTagNamesAFileThatIsServedAndHasItsIntegrity(t *testing.T) {
	m := regexp.MustCompile(`^<script src="([^"]+)" integrity="sha384-([^"]+)" crossorigin="anonymous" defer></script>$`).
		FindStringSubmatch(string(Script("/static/nebis/")))
	if m == nil {
		t.Fatalf("the tag is %s", Script("/static/nebis/"))
	}
	res := get(m[1])
	body, _ := io.ReadAll(res.Body)
	sum := sha512.Sum384(body)
	if res.StatusCode != http.StatusOK || base64.StdEncoding.EncodeToString(sum[:]) != m[2] {
		t.Errorf("%s: status %d, %d bytes, not what %s stands for", m[1], res.StatusCode, len(body), m[2])
	}
	if c := res.Header.Get("Cache-Control"); !strings.Contains(c, "immutable") || !strings.Contains(c, "max-age=31536000") {
		t.Errorf("Cache-Control: %s", c)
	}
	if c := res.Header.Get("Content-Type"); !strings.HasPrefix(c, "text/javascript") {
		t.Errorf("Content-Type: %s", c)
	}
}

func TestAScriptThatTheBrowserHasIsNotSentAgain(t *testing.T) {
	tag := get("/" + Module.Name).Header.Get("Etag")
	if res := get("/"+Module.Name, "If-None-Match", tag); tag == "" || res.StatusCode != http.StatusNotModified {
		t.Errorf("ETag %s: status %d", tag, res.StatusCode)
	}
}

func TestAnotherNameIsNotFound(t *testing.T) {
	// An old name must not bring the new file, to be cached under it for a year.
	for _, path := range []string{"/", "/nebis.min.js", "/nebis.min.0000000000000000.js"} {
		if res := get(path); res.StatusCode != http.StatusNotFound {
			t.Errorf("%s: status %d", path, res.StatusCode)
		}
	}
}

// A condition that comes after one that always applies is never looked at.
func TestThePackageNamesItsTypesFirst(t *testing.T) {
	text, err := os.ReadFile("package.json")
	if err != nil {
		t.Fatal(err)
	}
	var p struct {
		Files   []string
		Exports map[string]json.RawMessage
	}
	if err := json.Unmarshal(text, &p); err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`"(\w+)":\s*"\./([^"]+)"`)
	for name, e := range p.Exports {
		for i, m := range named.FindAllStringSubmatch(string(e), -1) {
			if (m[1] == "types") != (i == 0) {
				t.Errorf("%s: %q is number %d", name, m[1], i+1)
			}
			if _, err := os.Stat(m[2]); err != nil {
				t.Error(err)
			}
		}
	}
	for _, f := range p.Files {
		if _, err := os.Stat(f); err != nil {
			t.Error(err)
		}
	}
}

// TypeScript is not among what make test installs: npm install -g typescript.
func TestTheTypesFit(t *testing.T) {
	tsc, err := exec.LookPath("tsc")
	if err != nil {
		t.Skipf("skipped: %v", err)
	}
	out, err := exec.Command(tsc, "--noEmit", "--strict", "--lib", "es2022,dom", "--module", "nodenext", "testdata/use.ts").CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
