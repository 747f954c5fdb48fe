package scan

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// readNginx reads $name and ${name}.
func readNginx(s string) (*pattern, error) {
	p, before := &pattern{}, ""
	for s != "" {
		i := strings.IndexByte(s, '$')
		if i < 0 {
			before += s
			break
		}
		before, s = before+s[:i], s[i+1:]
		name, rest, err := variable(s)
		if err != nil {
			return nil, err
		}
		p.add(before, nginxField(name))
		before, s = "", rest
	}
	p.tail = before
	return p, nil
}

func variable(s string) (name, rest string, err error) {
	if inner, ok := strings.CutPrefix(s, "{"); ok {
		name, rest, ok = strings.Cut(inner, "}")
		if !ok {
			return "", "", errors.New("a ${ without its }")
		}
		return name, rest, nil
	}
	end := strings.IndexFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_'
	})
	if end < 0 {
		end = len(s)
	}
	if end == 0 {
		return "", "", errors.New("a $ without a name")
	}
	return s[:end], s[end:], nil
}

// readApache reads %h, %>s and %{name}i.
func readApache(s string) (*pattern, error) {
	p, before := &pattern{}, ""
	for s != "" {
		i := strings.IndexByte(s, '%')
		if i < 0 {
			before += s
			break
		}
		before, s = before+s[:i], s[i+1:]
		if rest, ok := strings.CutPrefix(s, "%"); ok {
			before, s = before+"%", rest
			continue
		}
		f, bare, rest, err := letter(s)
		if err != nil {
			return nil, err
		}
		s = rest
		if f == when && bare {
			p.add(before+"[", f)
			before = "]"
			continue
		}
		p.add(before, f)
		before = ""
	}
	p.tail = before
	return p, nil
}

// letter reads what stands behind a %; bare tells that it had no {name}.
func letter(s string) (f field, bare bool, rest string, err error) {
	s = strings.TrimLeft(s, "<>!,0123456789") // of which request, at which status
	name, ok := "", false
	if inner, has := strings.CutPrefix(s, "{"); has {
		if name, s, ok = strings.Cut(inner, "}"); !ok {
			return 0, false, "", errors.New("a %{ without its }")
		}
	}
	s = strings.TrimPrefix(s, "^") // trailers: %{name}^ti
	if s == "" {
		return 0, false, "", errors.New("a % without a letter")
	}
	if ok {
		return apacheNamed(name, s[0]), false, s[1:], nil
	}
	return apacheFields[s[0]], true, s[1:], nil
}

// detect looks at the beginning of a log and takes the format that most of its
// lines have, preferring one that finds addresses: behind the name of the site,
// combined would take that for the visitor's. Nothing fits: combined, so that the
// lines count as broken.
func detect(head []byte) format {
	best, most := format(loose(combinedFormat)), 0
	for _, f := range []format{
		loose(vhostFormat), loose(hostFormat), loose(mainFormat), loose(combinedFormat), loose(commonFormat), jsonLines{},
	} {
		if n := fits(f, head); n > most {
			best, most = f, n
		}
	}
	return best
}

// fits counts the lines, of the first hundred, that a format can read, and once
// more those where an address is one.
func fits(f format, head []byte) int {
	n := 0
	for range 100 {
		line, rest, ok := bytes.Cut(head, []byte("\n"))
		if !ok && len(line) == 0 {
			break
		}
		head = rest
		var e entry
		if f.cut(bytes.TrimSuffix(line, []byte("\r")), &e) && likely(&e) {
			n++
			if isAddress(e[addr]) {
				n++
			}
		}
	}
	return n
}

func likely(e *entry) bool {
	_, ok := clock{}.parse(e[when])
	return ok && (len(e[status]) == 0 || number(e[status]) > 0)
}

// explain says what was expected, with the beginning of a line that did not fit.
func explain(line string) error {
	return fmt.Errorf("no line could be read; the first one begins %q: name the format with --format (common, combined, main, vhost_combined, json, or the log_format or LogFormat of your server)", line)
}
