package scan

import (
	"bytes"
	"hash/maphash"
	"net/netip"
	"strconv"
	"time"
)

// write is one request that writes. Very many are held at once: 64 bytes.
type write struct {
	at      int64 // microseconds
	visitor uint64
	route   *Route
	addr    string
	who     string // user or cookie, with Full only
	status  int32
	slow    bool // took so long that a client gives up
	gone    bool // the visitor went away before the answer
	program bool // the agent is not a browser
}

// tooSlow is what clients and proxies wait for an answer, at the least.
const tooSlow = 10 * time.Second

// reader makes writes from the lines of all logs.
type reader struct {
	opts   *Options
	clock  clock
	seed   maphash.Seed
	routes *routes
	result *Result

	scratch  []byte
	lastText []byte // most lines have the time of the one before
	last     int64
}

// read makes a write from a line; nil is another request or a broken line.
func (r *reader) read(f format, line []byte, file *File) *write {
	file.Lines++
	var e entry
	if !f.cut(line, &e) {
		r.broken(line, file)
		return nil
	}
	if len(e[method]) == 0 && len(e[path]) == 0 {
		e[method], e[path] = splitRequest(e[request])
	} else if len(e[args]) > 0 && bytes.IndexByte(e[path], '?') < 0 {
		e[path] = r.withQuery(e[path], e[args])
	}
	at, ok := r.time(e[when])
	if !ok {
		r.broken(line, file)
		return nil
	}
	r.result.span(at)
	if !r.wanted(e[method], e[path]) {
		return nil
	}
	return r.write(&e, at)
}

func (r *reader) broken(line []byte, file *File) {
	if len(bytes.TrimSpace(line)) == 0 {
		file.Lines-- // an empty line says nothing, and nothing wrong
		return
	}
	if r.result.firstBroken == "" {
		r.result.firstBroken = string(line[:min(len(line), 60)])
	}
	file.Broken++
}

// splitRequest cuts "POST /orders HTTP/1.1".
func splitRequest(b []byte) (method, path []byte) {
	method, rest, ok := bytes.Cut(b, []byte(" "))
	if !ok {
		return nil, nil
	}
	if i := bytes.LastIndexByte(rest, ' '); i >= 0 {
		rest = rest[:i]
	}
	return method, rest
}

func (r *reader) withQuery(path, query []byte) []byte {
	joined := append(bytes.Clone(path), '?')
	return append(joined, bytes.TrimPrefix(query, []byte("?"))...)
}

func (r *reader) time(b []byte) (int64, bool) {
	if len(b) > 0 && bytes.Equal(b, r.lastText) {
		return r.last, true
	}
	at, ok := r.clock.parse(b)
	if ok {
		r.last, r.lastText = at, append(r.lastText[:0], b...)
	}
	return at, ok
}

func (r *reader) wanted(method, path []byte) bool {
	switch string(method) {
	case "POST", "PUT", "PATCH", "DELETE":
		return true
	case "GET":
		return len(r.opts.Also) > 0 && r.also(bare(string(path)))
	}
	return false
}

func (r *reader) also(path string) bool {
	for _, pattern := range r.opts.Also {
		if stem, ok := bytes.CutSuffix([]byte(pattern), []byte("*")); ok && bytes.HasPrefix([]byte(path), stem) {
			return true
		}
		if pattern == path || pattern == fold(path) {
			return true
		}
	}
	return false
}

// statusOf is 0 where there is none.
func statusOf(b []byte) int32 {
	if len(b) != 3 {
		return 0
	}
	return int32(max(number(b), 0))
}

// kept is a value that a write holds on to: what a stranger sent may be long, and
// many writes are held at once.
func kept(v []byte) string { return string(v[:min(len(v), longestValue)]) }

const longestValue = 200

func (r *reader) write(e *entry, at int64) *write {
	from := address(e)
	w := &write{
		at: at, visitor: r.visitor(e, from), addr: kept(from),
		route: r.routes.of(e[method], e[path]), status: statusOf(e[status]),
		slow: isSlow(e), program: isProgram(e[agent]),
	}
	w.gone = w.status == statusClientGone || string(e[outcome]) == "X"
	if r.opts.Full {
		w.who = kept(e[user])
		if w.who == "" {
			w.who = kept(e[cookie])
		}
	}
	return w
}

// visitor is the same for requests that may be the same: all that the log knows
// of who sent what. The answer plays no part.
func (r *reader) visitor(e *entry, from []byte) uint64 {
	b := r.scratch[:0]
	for _, v := range [...][]byte{from, e[host], e[agent], e[user], e[cookie], e[method], e[path], e[length]} {
		b = append(strconv.AppendInt(b, int64(len(v)), 10), ':')
		b = append(b, v...)
	}
	r.scratch = b
	return maphash.Bytes(r.seed, b)
}

// address is the first one that a proxy named, or that of the connection. What
// is no address was not named by a proxy: a log_format may have anything where
// others have X-Forwarded-For, a duration say.
func address(e *entry) []byte {
	first, _, _ := bytes.Cut(e[forwarded], []byte(","))
	first = bytes.TrimSpace(first)
	if len(e[addr]) > 0 && !isAddress(first) {
		return e[addr]
	}
	return first
}

// longestAddress has IPv6 with a zone, brackets and a port.
const longestAddress = 80

func isAddress(b []byte) bool {
	if len(b) == 0 || len(b) > longestAddress {
		return false
	}
	if _, err := netip.ParseAddr(string(b)); err == nil {
		return true
	}
	_, err := netip.ParseAddrPort(string(b))
	return err == nil
}

func isSlow(e *entry) bool {
	if len(e[micros]) > 0 {
		return int64(number(e[micros])) >= tooSlow.Microseconds()
	}
	whole, _, _ := bytes.Cut(e[seconds], []byte("."))
	return number(whole) >= int(tooSlow.Seconds())
}

// isProgram: every browser calls itself Mozilla; without an agent nobody knows.
func isProgram(agent []byte) bool {
	return len(agent) > 0 && !bytes.HasPrefix(agent, []byte("Mozilla/")) && !bytes.HasPrefix(agent, []byte("Opera/"))
}
