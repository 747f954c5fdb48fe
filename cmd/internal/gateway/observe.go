package gateway

import (
	"bytes"
	"crypto/sha256"
	"hash"
	"hash/maphash"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/nebis-dev/nebis/cmd/internal/scan"
)

// How long a write is remembered, and how many at the most; beyond that the oldest
// are forgotten.
const (
	observeWindow = 10 * time.Minute
	observeMost   = 1 << 16
	observeRoutes = 1000
)

// Observer notes which writes came twice: the same visitor, address and body. It
// remembers digests, no bodies. It is safe for concurrent use.
type Observer struct {
	window time.Duration
	seed   maphash.Seed
	now    func() time.Time

	mu         sync.Mutex
	young, old map[uint64]*sent // two generations: when the young one is full, the old one goes
	since      time.Time
	crowded    bool
	began      time.Time
	routes     map[string]*observed
	pages      map[string]map[string]int // forms by page and by what would become of them
}

// NewObserver begins to observe.
func NewObserver() *Observer {
	o := &Observer{
		window: observeWindow, seed: maphash.MakeSeed(), now: time.Now,
		young: map[uint64]*sent{}, routes: map[string]*observed{}, pages: map[string]map[string]int{},
	}
	o.began, o.since = o.now(), o.now()
	return o
}

// sent is one write, and how it ended.
type sent struct {
	at      time.Time
	status  int // 0: it has not ended
	gone    bool
	took    time.Duration
	program bool

	form bool   // its body is that of a form
	page string // where the form was, as a pattern; "" where the browser does not say
	key  bool   // it came with a key
}

// wrap lets everything through, and looks on.
func (o *Observer) wrap(g *Gateway, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !writes(r.Method) || r.Body == nil {
			next.ServeHTTP(w, r)
			return
		}
		s := o.sent(r)
		body := &hashed{ReadCloser: r.Body, sum: sha256.New(), end: o.note(g, r, s)}
		defer o.ended(s, w, r)
		defer body.done()
		if r.Body != http.NoBody {
			r = r.WithContext(r.Context())
			r.Body = body
		}
		next.ServeHTTP(w, r)
	})
}

// sent is what the head of a write tells.
func (o *Observer) sent(r *http.Request) *sent {
	return &sent{
		at: o.now(), program: isProgram(r.UserAgent()), form: isForm(r.Header.Get("Content-Type")),
		page: pageBefore(r), key: r.Header.Get("Idempotency-Key") != "",
	}
}

// note returns what records the write, once the digest of its body is known.
func (o *Observer) note(g *Gateway, r *http.Request, s *sent) func(digest []byte, key bool) {
	name := r.Method + " " + foldPath(r.URL) + foldQuery(r.URL.RawQuery)
	who := strings.Join([]string{
		g.client(r), r.UserAgent(), r.Header.Get("Authorization"), r.Method, r.URL.RequestURI(),
	}, "\x00")
	return func(digest []byte, key bool) {
		s.key = s.key || key
		o.add(name, maphash.String(o.seed, who+"\x00"+string(digest)), s)
	}
}

// add looks whether the write was there before.
func (o *Observer) add(name string, digest uint64, s *sent) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.age()
	route := o.route(name)
	route.writes++
	before := o.young[digest]
	if before == nil {
		before = o.old[digest]
	}
	if before != nil && s.at.Sub(before.at) <= o.window {
		route.repeat(before, s)
	}
	o.young[digest] = s
}

func (o *Observer) age() {
	full := len(o.young) >= observeMost
	if now := o.now(); full || now.Sub(o.since) > o.window {
		o.crowded = o.crowded || full && now.Sub(o.since) <= o.window
		o.old, o.young, o.since = o.young, map[uint64]*sent{}, now
	}
}

// route finds a route; those that are too many are one.
func (o *Observer) route(name string) *observed {
	if o.routes[name] == nil {
		if len(o.routes) >= observeRoutes {
			name = "…"
		}
		if o.routes[name] == nil {
			o.routes[name] = &observed{name: name, causes: map[scan.Cause]int{}}
		}
	}
	return o.routes[name]
}

// ended notes how a write ended: why it came again depends on that.
func (o *Observer) ended(s *sent, w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	s.gone = r.Context().Err() != nil
	s.took = o.now().Sub(s.at)
	s.status = http.StatusOK
	if a, ok := w.(*access); ok && a.status != 0 {
		s.status = a.status
	}
}

// form notes what would become of a page's form.
func (o *Observer) form(page, why string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.pages[page] == nil {
		if len(o.pages) >= observeRoutes {
			return
		}
		o.pages[page] = map[string]int{}
	}
	o.pages[page][why]++
}

// hashed takes the digest of a body on its way, and looks whether the name of the
// key's field is in it.
type hashed struct {
	io.ReadCloser
	sum  hash.Hash
	tail []byte // of what was read, in which the name may have begun
	key  bool
	once sync.Once
	end  func(digest []byte, key bool)
}

func (h *hashed) Read(p []byte) (int, error) {
	n, err := h.ReadCloser.Read(p)
	_, _ = h.sum.Write(p[:n])
	h.look(p[:n])
	if err == io.EOF {
		h.done()
	}
	return n, err
}

func (h *hashed) look(p []byte) {
	const before = len(keyField) - 1
	if h.key {
		return
	}
	h.key = bytes.Contains(p, []byte(keyField)) ||
		bytes.Contains(append(h.tail, p[:min(len(p), before)]...), []byte(keyField))
	h.tail = append(h.tail, p[max(0, len(p)-before):]...)
	h.tail = h.tail[max(0, len(h.tail)-before):]
}

// done tells the digest once: at the end of the body, or when nobody reads on.
func (h *hashed) done() { h.once.Do(func() { h.end(h.sum.Sum(nil), h.key) }) }
