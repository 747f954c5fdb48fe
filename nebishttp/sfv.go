package nebishttp

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"
)

// sfString parses a Structured Field Item that is a String (RFC 9651, 4.2) and
// drops its parameters, which must be well-formed all the same.
func sfString(s string) (string, bool) {
	p := sfParser{strings.Trim(s, " ")}
	text, ok := p.str()
	return text, ok && p.parameters() && p.rest == ""
}

// sfParser consumes a field value from the front. Its methods report whether
// what they look for was there; after a false the rest means nothing.
type sfParser struct{ rest string }

func (p *sfParser) next() (c byte, ok bool) {
	if p.rest == "" {
		return 0, false
	}
	c, p.rest = p.rest[0], p.rest[1:]
	return c, true
}

func (p *sfParser) accept(c byte) bool {
	if p.rest == "" || p.rest[0] != c {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

// while consumes the longest prefix whose bytes all satisfy is.
func (p *sfParser) while(is func(c byte) bool) string {
	n := 0
	for n < len(p.rest) && is(p.rest[n]) {
		n++
	}
	head := p.rest[:n]
	p.rest = p.rest[n:]
	return head
}

func (p *sfParser) str() (string, bool) {
	if !p.accept('"') {
		return "", false
	}
	var out []byte
	for {
		c, ok := p.next()
		switch {
		case !ok || c < ' ' || c > '~':
			return "", false
		case c == '"':
			return string(out), true
		case c == '\\':
			if c, ok = p.next(); !ok || c != '"' && c != '\\' {
				return "", false
			}
		}
		out = append(out, c)
	}
}

func (p *sfParser) parameters() bool {
	for p.accept(';') {
		p.while(func(c byte) bool { return c == ' ' })
		if !p.key() || p.accept('=') && !p.bareItem() {
			return false
		}
	}
	return true
}

func (p *sfParser) key() bool {
	if p.rest == "" || !isLower(p.rest[0]) && p.rest[0] != '*' {
		return false
	}
	p.while(func(c byte) bool { return isLower(c) || isDigit(c) || strings.IndexByte("_-.*", c) >= 0 })
	return true
}

func (p *sfParser) bareItem() (ok bool) {
	if p.rest == "" {
		return false
	}
	switch c := p.rest[0]; {
	case c == '"':
		_, ok = p.str()
	case c == '-' || isDigit(c):
		ok = p.number(true)
	case c == ':':
		ok = p.bytes()
	case c == '?':
		p.next()
		ok = p.accept('0') || p.accept('1')
	case c == '@':
		p.next()
		ok = p.number(false)
	case c == '%':
		ok = p.display()
	case c == '*' || isAlpha(c):
		p.while(func(c byte) bool { return isAlpha(c) || isDigit(c) || strings.IndexByte("!#$%&'*+-.^_`|~:/", c) >= 0 })
		ok = true
	}
	return ok
}

func (p *sfParser) number(decimal bool) bool {
	p.accept('-')
	whole := len(p.while(isDigit))
	if decimal && p.accept('.') {
		part := len(p.while(isDigit))
		return whole >= 1 && whole <= 12 && part >= 1 && part <= 3
	}
	return whole >= 1 && whole <= 15
}

func (p *sfParser) bytes() bool {
	p.next()
	text := p.while(func(c byte) bool { return c != ':' })
	_, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
	// The decoder skips line ends; no field value may hold them.
	return p.accept(':') && err == nil && !strings.ContainsAny(text, "\r\n")
}

func (p *sfParser) display() bool {
	p.next()
	if !p.accept('"') {
		return false
	}
	var out []byte
	for {
		c, ok := p.next()
		switch {
		case !ok || c < ' ' || c > '~':
			return false
		case c == '"':
			return utf8.Valid(out)
		case c == '%':
			hi, lo := p.hex(), p.hex()
			if hi < 0 || lo < 0 {
				return false
			}
			c = byte(hi<<4 | lo)
		}
		out = append(out, c)
	}
}

// hex consumes a lower-case hexadecimal digit; -1 when there is none.
func (p *sfParser) hex() int {
	c, _ := p.next()
	return strings.IndexByte("0123456789abcdef", c)
}

func isLower(c byte) bool { return 'a' <= c && c <= 'z' }
func isAlpha(c byte) bool { return isLower(c | 0x20) }
func isDigit(c byte) bool { return '0' <= c && c <= '9' }
