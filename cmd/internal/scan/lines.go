package scan

import (
	"bytes"
	"errors"
	"io"
)

// maxLine is the longest line that is read; no server writes a longer one about
// a request that it took. Longer ones are counted and skipped.
const maxLine = 256 << 10

// lines cuts a stream into lines within one buffer, whatever it is fed.
type lines struct {
	r          io.Reader
	buf        []byte
	start, end int
	skipping   bool // within a line that is too long
	err        error
	tooLong    int
}

func newLines(r io.Reader) *lines { return &lines{r: r, buf: make([]byte, maxLine)} }

// next returns the next line without its end, until the next call. A last line
// without an end counts, unless the stream broke off.
func (l *lines) next() ([]byte, bool) {
	for {
		if i := bytes.IndexByte(l.buf[l.start:l.end], '\n'); i >= 0 {
			line := l.buf[l.start : l.start+i]
			l.start += i + 1
			if l.skipping {
				l.skipping = false
				continue
			}
			return bytes.TrimSuffix(line, []byte("\r")), true
		}
		if l.err != nil {
			return l.last()
		}
		l.fill()
	}
}

func (l *lines) last() ([]byte, bool) {
	line := l.buf[l.start:l.end]
	l.start = l.end
	if len(line) == 0 || l.skipping || !errors.Is(l.err, io.EOF) {
		return nil, false
	}
	return line, true
}

// fill reads more behind what is left of a line.
func (l *lines) fill() {
	if l.start > 0 {
		l.end = copy(l.buf, l.buf[l.start:l.end])
		l.start = 0
	}
	if l.end == len(l.buf) {
		if !l.skipping {
			l.skipping = true
			l.tooLong++
		}
		l.end = 0
	}
	n, err := l.r.Read(l.buf[l.end:])
	l.end += n
	if err != nil {
		l.err = err
	}
}

// head is what the buffer has of the stream's beginning.
func (l *lines) head() []byte {
	for l.end < len(l.buf) && l.err == nil {
		l.fill()
	}
	return l.buf[l.start:l.end]
}

// broke is the reason why the stream ended before its end, if it did.
func (l *lines) broke() error {
	if l.err == nil || errors.Is(l.err, io.EOF) {
		return nil
	}
	return l.err
}
