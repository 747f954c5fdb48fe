package scan

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// format cuts lines of one shape.
type format interface {
	// cut fills e; false is a broken line.
	cut(line []byte, e *entry) bool
}

// pattern is a log_format or LogFormat: fields, each behind a literal text.
type pattern struct {
	parts []part
	tail  string // behind the last field
	loose bool   // more may follow the tail
}

type part struct {
	before string // the text before the field
	field  field
	after  string // the text that ends it; empty: the line's end
	quoted bool   // in double quotes, within which \" is none
	word   bool   // the last one, when more may follow: up to a space
}

// The formats that have a name. What follows a combined line is let through:
// many sites add a field or two.
const (
	commonFormat   = `%h %l %u %t "%r" %>s %b`
	combinedFormat = commonFormat + ` "%{Referer}i" "%{User-agent}i"`
	vhostFormat    = `%v:%p ` + combinedFormat
	hostFormat     = `%v ` + combinedFormat
	mainFormat     = `$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" "$http_x_forwarded_for"`
)

// parseFormat reads --format: a name, nginx's log_format or Apache's LogFormat.
func parseFormat(s string) (format, error) {
	switch s {
	case "json":
		return jsonLines{}, nil
	case "common":
		return loose(commonFormat), nil
	case "combined":
		return loose(combinedFormat), nil
	case "vhost_combined":
		return loose(vhostFormat), nil
	case "main":
		return loose(mainFormat), nil
	}
	p, err := compile(directive(s))
	if err != nil {
		return nil, fmt.Errorf("--format: %w", err)
	}
	return p, nil
}

// loose compiles a format of ours.
func loose(s string) *pattern {
	p, err := compile(s)
	if err != nil {
		panic(err)
	}
	p.loose = true
	p.parts[len(p.parts)-1].word = true
	return p
}

// directive takes a log_format or LogFormat line as it stands in the server's
// configuration.
func directive(s string) string {
	s = strings.TrimSpace(s)
	if rest, ok := strings.CutPrefix(s, "LogFormat "); ok {
		rest = strings.TrimSpace(rest)
		if i := strings.LastIndex(rest, `"`); strings.HasPrefix(rest, `"`) && i > 0 {
			rest = rest[1:i]
		}
		return strings.ReplaceAll(rest, `\"`, `"`)
	}
	if !strings.HasPrefix(s, "log_format ") {
		return s
	}
	var joined strings.Builder
	for {
		i := strings.IndexByte(s, '\'')
		if i < 0 {
			return joined.String()
		}
		s = s[i+1:]
		end := strings.IndexByte(s, '\'')
		if end < 0 {
			return joined.String() + s
		}
		joined.WriteString(s[:end])
		s = s[end+1:]
	}
}

// compile reads a format and refuses one by which nothing could be found.
func compile(s string) (*pattern, error) {
	read := readNginx
	switch {
	case strings.Contains(s, "$"):
	case strings.Contains(s, "%"):
		read = readApache
	default:
		return nil, errors.New("neither a log_format of nginx ($remote_addr …), nor a LogFormat of Apache (%h …), nor one of common, combined, main, vhost_combined, json")
	}
	p, err := read(s)
	if err != nil {
		return nil, err
	}
	return p, p.finish()
}

// finish tells every part where it ends.
func (p *pattern) finish() error {
	has := map[field]bool{}
	for i := range p.parts {
		part := &p.parts[i]
		part.after = p.tail
		if i+1 < len(p.parts) {
			part.after = p.parts[i+1].before
			if part.after == "" {
				return errors.New("two fields stand side by side, with nothing that tells where the first one ends")
			}
		}
		part.quoted = strings.HasSuffix(part.before, `"`) && strings.HasPrefix(part.after, `"`)
		has[part.field] = true
	}
	switch {
	case !has[when]:
		return errors.New("it has no time ($time_local, $time_iso8601, $msec or %t)")
	case !has[request] && (!has[method] || !has[path]):
		return errors.New("it has no request ($request, or $request_method and $request_uri, or %r)")
	case !has[addr] && !has[forwarded] && !has[user] && !has[cookie]:
		return errors.New("it has nothing that tells visitors apart ($remote_addr, %h, a user or a cookie)")
	}
	return nil
}

func (p *pattern) add(before string, f field) {
	p.parts = append(p.parts, part{before: before, field: f})
}

func (p *pattern) cut(line []byte, e *entry) bool {
	for i := range p.parts {
		part := &p.parts[i]
		if len(line) < len(part.before) || string(line[:len(part.before)]) != part.before {
			return false
		}
		line = line[len(part.before):]
		end := part.end(line)
		if end < 0 {
			return false
		}
		if part.field != skipped {
			e.set(part.field, line[:end])
		}
		line = line[end:]
	}
	return string(line) == p.tail || p.loose && bytes.HasPrefix(line, []byte(p.tail))
}

// end finds where a value ends.
func (p *part) end(line []byte) int {
	switch {
	case p.quoted:
		return closing(line)
	case p.after == "":
		if i := bytes.IndexByte(line, ' '); i >= 0 && p.word {
			return i
		}
		return len(line)
	case len(p.after) == 1:
		return bytes.IndexByte(line, p.after[0])
	}
	return bytes.Index(line, []byte(p.after))
}

// closing finds the quote that is not escaped.
func closing(line []byte) int {
	from := 0
	for {
		i := bytes.IndexByte(line[from:], '"')
		if i < 0 {
			return -1
		}
		i += from
		slashes := 0
		for slashes < i && line[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return i
		}
		from = i + 1
	}
}
