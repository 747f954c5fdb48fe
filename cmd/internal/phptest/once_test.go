package phptest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// answer is what page.php says.
type answer struct {
	status int
	body   string
}

// send sends an order to page.php: its key, the item, and more fields and values.
func (s *site) send(key, item string, more ...string) answer {
	s.t.Helper()
	form := url.Values{"idempotency_key": {key}, "item": {item}}
	for i := 0; i < len(more); i += 2 {
		form.Set(more[i], more[i+1])
	}
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url+"/page.php", strings.NewReader(form.Encode()))
	if err != nil {
		s.t.Error(err)
		return answer{}
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Close = true // a worker serves one connection at a time
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return answer{}
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return answer{}
	}
	return answer{res.StatusCode, string(body)}
}

// is fails the test unless the answer has this status and speaks of this.
func (s *site) is(a answer, status int, text string) {
	s.t.Helper()
	if a.status != status || !strings.Contains(a.body, text) {
		s.t.Errorf("got %d %q, want %d and %q", a.status, a.body, status, text)
	}
}

// id is the order's number in an answer that is good.
func (s *site) id(a answer) int {
	s.t.Helper()
	var order struct{ ID int }
	if err := json.Unmarshal([]byte(a.body), &order); err != nil || a.status != http.StatusOK {
		s.t.Errorf("got %d %q, want an order", a.status, a.body)
	}
	return order.ID
}

// same fails the test unless all got the same order.
func (s *site) same(ids []int) {
	s.t.Helper()
	if slices.Sort(ids); ids[0] != ids[len(ids)-1] {
		s.t.Errorf("not all got the same order: %v", ids)
	}
}

// hold makes work that waits at the gate stay there, and returns what waits until some has
// got there.
func (s *site) hold() (reached func()) {
	next := s.gate.Calls() + 1
	s.gate.Hold()
	return func() { s.gate.Await(next) }
}

// atOnce calls f n times at once and returns what it returned.
func atOnce[T any](n int, f func() T) []T {
	all := make([]T, n)
	var wg sync.WaitGroup
	for i := range all {
		wg.Go(func() { all[i] = f() })
	}
	wg.Wait()
	return all
}

var field = regexp.MustCompile(`name="(idempotency_key|csrf)" value="([0-9a-f-]{32,36})"`)

func testForm(t *testing.T, s *site) {
	jar, err := cookiejar.New(nil)
	s.must(err)
	client := &http.Client{Jar: jar, Transport: &http.Transport{DisableKeepAlives: true}}
	form := url.Values{"item": {"<tea> & 茶"}, "qty": {"2"}}
	for _, m := range field.FindAllStringSubmatch(get(t, client, s.url+"/checkout.php"), -1) {
		form.Set(m[1], m[2])
	}
	if key := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`); !key.MatchString(form.Get("idempotency_key")) {
		t.Fatalf("%v has no UUID of version 7", form)
	}
	pages := map[string]int{}
	for _, page := range atOnce(20, func() string { return post(t, client, s.url+"/checkout.php", form) }) {
		if !strings.Contains(page, "<p>2 × &lt;tea&gt; &amp; 茶</p>") {
			t.Errorf("not the order's page: %s", page)
		}
		pages[page]++
	}
	if len(pages) != 1 {
		t.Errorf("the pages, and how many got them: %v", pages)
	}
	s.want("<tea> & 茶")

	form.Set("qty", "3")
	if page := post(t, client, s.url+"/checkout.php", form); !strings.Contains(page, "already sent, with something else in it") {
		t.Errorf("another form with the same key: %s", page)
	}
	form.Del("idempotency_key")
	if page := post(t, client, s.url+"/checkout.php", form); !strings.Contains(page, "<h1>Not yet</h1>") {
		t.Errorf("a form without a key: %s", page)
	}
	var id int
	s.must(s.db.QueryRowContext(t.Context(), `SELECT id FROM orders`).Scan(&id))
	stranger := &http.Client{Transport: client.Transport}
	if page := get(t, stranger, fmt.Sprintf("%s/checkout.php?order=%d", s.url, id)); !strings.Contains(page, "No such order") {
		t.Errorf("a stranger sees: %s", page)
	}
	s.want("<tea> & 茶")
}

func get(t *testing.T, client *http.Client, at string) string {
	t.Helper()
	res, err := client.Get(at)
	return read(t, res, err)
}

func post(t *testing.T, client *http.Client, at string, form url.Values) string {
	t.Helper()
	res, err := client.PostForm(at, form)
	return read(t, res, err)
}

func read(t *testing.T, res *http.Response, err error) string {
	t.Helper()
	if err != nil {
		t.Error(err)
		return ""
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Error(err)
	}
	return string(body)
}

func testDuplicates(t *testing.T, s *site) {
	reached := s.hold()
	// A server of its own: a worker may have taken a second connection before it began
	// to wait with the first.
	impatient := s.beside()
	go func() {
		reached()
		s.is(impatient.send("k", "tea", "wait", "1"), http.StatusConflict, "still at work")
		s.gate.Release()
	}()
	s.same(atOnce(6, func() int { return s.id(s.send("k", "tea", "how", "wait")) }))
	s.is(s.send("k", "coffee"), http.StatusUnprocessableEntity, "something else")
	s.is(s.send("k", "coffee", "any", "1"), http.StatusOK, "tea")
	s.id(s.send("k", "coffee", "owner", "bob"))
	s.want("tea", "coffee")
}

func testFailures(t *testing.T, s *site) {
	for how, want := range map[string]answer{
		"throw": {http.StatusTeapot, "out of tea"}, "exit": {http.StatusOK, "bye"}, "fatal": {http.StatusInternalServerError, ""},
	} {
		s.is(s.send("k", "tea", "how", how), want.status, want.body)
		s.want()
	}
	s.id(s.send("k", "tea"))
	s.want("tea")
}

func testExpired(t *testing.T, s *site) {
	s.id(s.send("k", "tea"))
	s.exec(`UPDATE idempotency SET expires_at = created_at`)
	s.same(atOnce(20, func() int { return s.id(s.send("k", "coffee")) }))
	s.want("tea", "coffee")
}

func testLarge(t *testing.T, s *site) {
	s.is(s.send("k", "tea", "how", "large"), http.StatusOK, "xxx")
	s.is(s.send("k", "tea"), http.StatusGone, "not kept")
	s.want("tea")
}

func testMalformed(t *testing.T, s *site) {
	for _, key := range []string{"", "two words", "ключ", "k\n", strings.Repeat("k", 256)} {
		s.is(s.send(key, "tea"), http.StatusBadRequest, "")
	}
	s.id(s.send(strings.Repeat("k", 255), "tea"))
	s.id(s.send(strings.Repeat("K", 255), "TEA"))
	s.want("tea", "TEA")
}

func testKilled(t *testing.T, s *site) {
	reached := s.hold()
	cut := make(chan answer)
	go func() { cut <- s.send("k", "tea", "how", "wait") }()
	reached()
	s.kill()
	if a := <-cut; a.status != 0 {
		t.Fatalf("it answered before it was killed: %v", a)
	}
	s.gate.Release()
	s.want()
	s.start()
	s.same([]int{s.id(s.send("k", "tea")), s.id(s.send("k", "tea"))})
	s.want("tea")
}
