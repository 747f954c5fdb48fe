package scan

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
)

// Stdin is the name by which standard input is given.
const Stdin = "-"

// source is one log that is being read.
type source struct {
	name   string
	file   *os.File // nil: standard input
	lines  *lines
	format format
	first  int64  // time of the first line that has one
	next   *write // read ahead
}

// counted tells how much of a file was read, and stops when the context ends.
type counted struct {
	ctx  context.Context
	r    io.Reader
	tell func(n int)
}

func (c *counted) Read(b []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := c.r.Read(b)
	if c.tell != nil {
		c.tell(n)
	}
	return n, err
}

// open begins to read; what is compressed is told by its first bytes, for
// rotated files have all kinds of names.
func (s *scanner) open(ctx context.Context, name string, tell func(int)) (*source, error) {
	src := &source{name: name}
	raw := s.opts.Stdin
	if name != Stdin {
		f, err := openFile(name)
		if err != nil {
			return nil, err
		}
		src.file, raw = f, f
	}
	r, err := decompress(&counted{ctx, raw, tell})
	if err != nil {
		src.close()
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	src.lines = newLines(r)
	src.format = s.opts.format
	return src, nil
}

func openFile(name string) (*os.File, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		f.Close()
		return nil, fmt.Errorf("%s is a folder: name its files, such as %s/access.log*", name, name)
	}
	return f, nil
}

func decompress(r io.Reader) (io.Reader, error) {
	b := bufio.NewReaderSize(r, 64<<10)
	magic, err := b.Peek(2)
	if err != nil && len(magic) < 2 {
		return b, nil // too short to be compressed; the error comes again
	}
	if !bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		return b, nil
	}
	return gzip.NewReader(b)
}

func (src *source) close() {
	if src.file != nil {
		src.file.Close()
	}
}

// sniff finds the format, and when the log begins.
func (src *source) sniff(c clock) {
	head := src.lines.head()
	if src.format == nil {
		src.format = detect(head)
	}
	for len(head) > 0 {
		line, rest, _ := bytes.Cut(head, []byte("\n"))
		head = rest
		var e entry
		if src.format.cut(bytes.TrimSuffix(line, []byte("\r")), &e) {
			if m, ok := c.parse(e[when]); ok {
				src.first = m.at
				return
			}
		}
	}
}
