package scan

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"hash/maphash"
	"io"
	"os"
)

// Stdin is the name by which standard input is given.
const Stdin = "-"

// source is one log that is being read.
type source struct {
	name   string
	file   *os.File // nil: standard input
	info   os.FileInfo
	lines  *lines
	format format
	first  int64  // time of the first line that has one
	next   *write // read ahead
	head   uint64 // tells the beginning from that of other logs
	read   File
}

// again tells whether the log can be opened a second time: a pipe cannot.
func (src *source) again() bool { return src.info != nil && src.info.Mode().IsRegular() }

// twin finds a log that is this one under another name: a link, or a copy such as
// the compressed one that logrotate makes.
func (src *source) twin(others []*source) *source {
	for _, o := range others {
		if src.name == o.name || src.again() && os.SameFile(src.info, o.info) || src.head != 0 && src.head == o.head {
			return o
		}
	}
	return nil
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
// rotated files have all kinds of names. The first look at a file that will be
// read again is not progress.
func (s *scanner) open(ctx context.Context, name string, look bool) (*source, error) {
	src := &source{name: name, read: File{Name: name}}
	raw := s.opts.Stdin
	if name != Stdin {
		f, info, err := openFile(name)
		if err != nil {
			return nil, err
		}
		src.file, src.info, raw = f, info, f
	}
	tell := s.opts.Progress
	if look && src.again() {
		tell = nil
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

func openFile(name string) (*os.File, os.FileInfo, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = fmt.Errorf("%s is a folder: name its files, such as %s/access.log*", name, name)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// packed are the first bytes of what only other programs unpack.
var packed = []struct{ magic, program string }{{"\xfd7zXZ", "xz"}, {"BZh", "bzip2"}, {"\x28\xb5\x2f\xfd", "zstd"}}

func decompress(r io.Reader) (io.Reader, error) {
	b := bufio.NewReaderSize(r, 64<<10)
	magic, _ := b.Peek(5) // an error comes again
	for _, p := range packed {
		if bytes.HasPrefix(magic, []byte(p.magic)) {
			return nil, fmt.Errorf("packed by %s: unpack it first, such as %s -dc FILE | nebis scan -", p.program, p.program)
		}
	}
	if !bytes.HasPrefix(magic, []byte{0x1f, 0x8b}) {
		return b, nil
	}
	return gzip.NewReader(b)
}

func (src *source) close() {
	if src.file != nil {
		src.file.Close()
	}
}

var headSeed = maphash.MakeSeed()

// sniff finds the format, and when the log begins.
func (src *source) sniff(c clock) {
	head := src.lines.head()
	if len(head) > 0 {
		src.head = max(maphash.Bytes(headSeed, head), 1)
	}
	if src.format == nil {
		src.format = detect(head)
	}
	for len(head) > 0 {
		line, rest, _ := bytes.Cut(head, []byte("\n"))
		head = rest
		var e entry
		if src.format.cut(bytes.TrimSuffix(line, []byte("\r")), &e) {
			if at, ok := c.parse(e[when]); ok {
				src.first = at
				return
			}
		}
	}
}
