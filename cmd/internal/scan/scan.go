// Package scan finds, in the access logs of a web server, writes that the same
// visitor sent again within a short time.
//
// It sees what the log has: no bodies, and visitors behind one address with one
// browser are one visitor. It reads every log once, in the order of time, with
// memory that does not grow with the logs.
package scan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"slices"
	"strings"
	"time"
)

// Options are what a scan may be told; the zero value works.
type Options struct {
	Within   time.Duration  // how soon a repeat comes, inclusive. Defaults to 5 s
	Format   string         // of the lines. Defaults to what the first lines look like
	Also     []string       // paths on which GET writes: exact, or a beginning with *
	Location *time.Location // of times without a zone, and of the report. Defaults to UTC
	Full     bool           // whole addresses, users and cookies in the result
	Stdin    io.Reader      // for the name "-"
	Progress func(read int) // told how many bytes were read, often

	format format
}

// Window is the default of Options.Within.
const Window = 5 * time.Second

// ErrOption is an option that cannot be used.
var ErrOption = errors.New("this cannot be used")

type scanner struct {
	opts    *Options
	reader  *reader
	repeats *repeats
	queue   queue
	result  *Result
}

// Run reads the logs of these names. An error means that there is no result: a
// log that cannot be opened, or that has no line which could be understood.
func Run(ctx context.Context, names []string, opts *Options) (*Result, error) {
	s, err := newScanner(opts)
	if err != nil {
		return nil, err
	}
	waiting, err := s.survey(ctx, names)
	if err != nil {
		return nil, err
	}
	if err := s.merge(ctx, waiting); err != nil {
		return nil, err
	}
	s.release(true)
	s.result.finish(s.reader.routes, s.opts)
	if s.result.Lines > 0 && s.result.Broken == s.result.Lines {
		return nil, explain(s.result.firstBroken)
	}
	return s.result, nil
}

func newScanner(given *Options) (*scanner, error) {
	opts := Options{}
	if given != nil {
		opts = *given
	}
	opts.Within = cmp.Or(opts.Within, Window)
	opts.Location = cmp.Or(opts.Location, time.UTC)
	for _, path := range opts.Also {
		if !strings.HasPrefix(path, "/") {
			return nil, fmt.Errorf("%w: --also %q: a path begins with /", ErrOption, path)
		}
	}
	if opts.Format != "" {
		f, err := parseFormat(opts.Format)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrOption, err)
		}
		opts.format = f
	}
	result := &Result{window: opts.Within, location: opts.Location, Causes: map[Cause]int{}}
	return &scanner{
		opts: &opts, result: result, repeats: newRepeats(opts.Within, result),
		reader: &reader{
			opts: &opts, clock: clock{opts.Location}, seed: maphash.MakeSeed(), routes: newRoutes(), result: result,
		},
	}, nil
}

// survey looks at the beginning of every log, and puts them in the order of
// time, for a shell names access.log before access.log.1. Files are closed
// again: there may be hundreds. A log that comes twice is read once, or every
// write in it would be a repeat.
func (s *scanner) survey(ctx context.Context, names []string) ([]*source, error) {
	var all []*source
	for _, name := range names {
		src, err := s.open(ctx, name, true)
		if err != nil {
			return nil, err
		}
		src.sniff(s.reader.clock)
		if src.again() {
			src.close()
			src.lines = nil
		}
		if twin := src.twin(all); twin != nil {
			src.close()
			s.result.Files = append(s.result.Files, File{Name: name, Twin: twin.name})
			continue
		}
		all = append(all, src)
	}
	slices.SortStableFunc(all, func(a, b *source) int { return cmp.Compare(a.first, b.first) })
	return all, nil
}

// merge reads all logs as if they were one in the order of time: those of
// several servers overlap, rotated ones follow each other.
func (s *scanner) merge(ctx context.Context, waiting []*source) error {
	var active []*source
	for len(waiting) > 0 || len(active) > 0 {
		if len(waiting) > 0 && (len(active) == 0 || waiting[0].first <= earliest(active).next.at) {
			src, err := s.begin(ctx, waiting[0])
			if err != nil {
				return err
			}
			waiting = waiting[1:]
			if src.next != nil {
				active = append(active, src)
			}
			continue
		}
		src := earliest(active)
		s.queue.push(src.next)
		s.release(false)
		if err := s.advance(ctx, src); err != nil {
			return err
		}
		if src.next == nil {
			active = slices.DeleteFunc(active, func(other *source) bool { return other == src })
		}
	}
	return nil
}

func earliest(active []*source) *source {
	if len(active) == 1 {
		return active[0]
	}
	return slices.MinFunc(active, func(a, b *source) int { return cmp.Compare(a.next.at, b.next.at) })
}

func (s *scanner) begin(ctx context.Context, src *source) (*source, error) {
	if src.again() {
		again, err := s.open(ctx, src.name, false)
		if err != nil {
			return nil, err
		}
		again.format = src.format
		src = again
	}
	return src, s.advance(ctx, src)
}

// advance reads on to the next write. A log that breaks off, a truncated gzip,
// counts as far as it goes.
func (s *scanner) advance(ctx context.Context, src *source) error {
	for {
		line, ok := src.lines.next()
		if !ok {
			break
		}
		if w := s.reader.read(src.format, line, &src.read); w != nil {
			src.next = w
			return nil
		}
	}
	src.next = nil
	src.close()
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := src.lines.broke(); err != nil {
		src.read.broke, src.read.Trail = err, err.Error()
	}
	src.read.Lines += src.lines.tooLong
	src.read.Broken += src.lines.tooLong
	s.result.TooLong += src.lines.tooLong
	s.result.Files = append(s.result.Files, src.read)
	return nil
}

func (s *scanner) release(end bool) {
	for w := s.queue.pop(end); w != nil; w = s.queue.pop(end) {
		s.repeats.take(w)
	}
}
