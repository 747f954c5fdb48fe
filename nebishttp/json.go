package nebishttp

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// jsonDigest digests what a JSON text means: the order of names, blanks, and how
// a string or a number is written do not count; everything else does. Of an
// object at the top the names in ignore do not count.
//
// Names that occur twice are all kept, in their order. Numbers are compared by
// their exact decimal value, never as floating point: two amounts are never taken
// for one. Lone surrogates stay apart.
//
// The text has passed [json.Valid], which also bounds its depth to 10,000, and
// [utf8.Valid].
func jsonDigest(text []byte, ignore names) []byte {
	p := jsonParser{rest: text}
	return p.value(nil, ignore)
}

// jsonParser walks over a JSON text that is known to be valid. A container is
// written as the hash of its parts, so that no byte is copied more than once,
// however deep it lies.
type jsonParser struct{ rest []byte }

func (p *jsonParser) peek() byte {
	p.rest = bytes.TrimLeft(p.rest, " \t\r\n")
	return p.rest[0]
}

func (p *jsonParser) accept(c byte) bool {
	if p.peek() != c {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

// value appends the next value to out: its kind, its length, what it says.
func (p *jsonParser) value(out []byte, ignore names) []byte {
	kind := p.peek()
	switch kind {
	case '{':
		return appendPart(out, kind, p.object(ignore))
	case '[':
		return appendPart(out, kind, p.array())
	case '"':
		return appendPart(out, kind, p.str())
	case 't', 'f', 'n':
		p.literal()
		return appendPart(out, kind, nil)
	}
	return appendPart(out, '0', decimal(string(p.literal())))
}

func appendPart(out []byte, kind byte, part []byte) []byte {
	out = binary.AppendUvarint(append(out, kind), uint64(len(part)))
	return append(out, part...)
}

type member struct {
	name  string
	value []byte
}

func (p *jsonParser) object(ignore names) []byte {
	var members []member
	p.accept('{')
	for !p.accept('}') {
		p.accept(',')
		p.peek()
		m := member{name: string(p.str())}
		p.accept(':')
		m.value = p.value(nil, nil)
		if !ignore[m.name] {
			members = append(members, m)
		}
	}
	slices.SortStableFunc(members, func(a, b member) int { return strings.Compare(a.name, b.name) })
	h := sha256.New()
	for _, m := range members {
		h.Write(appendPart(nil, '"', []byte(m.name)))
		h.Write(m.value)
	}
	return h.Sum(nil)
}

func (p *jsonParser) array() []byte {
	h := sha256.New()
	p.accept('[')
	for !p.accept(']') {
		p.accept(',')
		h.Write(p.value(nil, nil))
	}
	return h.Sum(nil)
}

// literal consumes a number, or true, false, null.
func (p *jsonParser) literal() []byte {
	n := bytes.IndexAny(p.rest, ",]} \t\r\n")
	if n < 0 {
		n = len(p.rest)
	}
	head := p.rest[:n]
	p.rest = p.rest[n:]
	return head
}

// str consumes a string and returns what it says.
func (p *jsonParser) str() []byte {
	var out []byte
	p.rest = p.rest[1:]
	for {
		n := bytes.IndexAny(p.rest, `"\`)
		out = append(out, p.rest[:n]...)
		end := p.rest[n] == '"'
		p.rest = p.rest[n+1:]
		if end {
			return out
		}
		out = p.escape(out)
	}
}

func (p *jsonParser) escape(out []byte) []byte {
	c := p.rest[0]
	p.rest = p.rest[1:]
	if i := strings.IndexByte("bfnrt", c); i >= 0 {
		return append(out, "\b\f\n\r\t"[i])
	}
	if c != 'u' {
		return append(out, c)
	}
	r := p.hex4()
	if utf16.IsSurrogate(r) && bytes.HasPrefix(p.rest, []byte(`\u`)) {
		before := p.rest
		p.rest = p.rest[2:]
		if pair := utf16.DecodeRune(r, p.hex4()); pair != utf8.RuneError {
			return utf8.AppendRune(out, pair)
		}
		p.rest = before
	}
	return appendUnit(out, r)
}

func (p *jsonParser) hex4() rune {
	n, _ := strconv.ParseUint(string(p.rest[:4]), 16, 16)
	p.rest = p.rest[4:]
	return rune(n)
}

// appendUnit writes a lone surrogate as UTF-8 would if it were allowed to. No
// valid text holds these bytes, so it stays apart from everything else.
func appendUnit(out []byte, r rune) []byte {
	if !utf16.IsSurrogate(r) {
		return utf8.AppendRune(out, r)
	}
	return append(out, 0xE0|byte(r>>12), 0x80|byte(r>>6)&0x3F, 0x80|byte(r)&0x3F)
}

// decimal writes a JSON number as its sign, its digits without zeros at either
// end, and the power of ten of the last one: 100, 1e2 and 100.0 are one number.
func decimal(number string) []byte {
	mantissa, power, _ := strings.Cut(strings.ToLower(number), "e")
	digits, negative := strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(digits, ".")
	digits = strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return []byte("0")
	}
	exponent := int64(0)
	if power != "" {
		var err error
		// A power beyond that would overflow below; it is no amount of anything.
		if exponent, err = strconv.ParseInt(power, 10, 48); err != nil {
			return []byte("as written " + number)
		}
	}
	significant := strings.TrimRight(digits, "0")
	exponent += int64(len(digits) - len(significant) - len(fraction))
	if negative {
		significant = "-" + significant
	}
	return strconv.AppendInt(append([]byte(significant), 'e'), exponent, 10)
}
