package scan

import (
	"testing"
)

func FuzzLine(f *testing.F) {
	for _, line := range []string{
		`1.2.3.4 - - [01/Mar/2026:12:00:00 +0000] "POST /a HTTP/1.1" 200 1 "-" "x\"y"`,
		`{"remote_addr":"1.2.3.4","time":1772366400.5,"request":"POST /a HTTP/1.1","x":{"y":[1,null,{"z":"\u00e4"}]}}`,
		`::1 - - [`, `{"a":"\`, "\x00\xff",
	} {
		f.Add([]byte(line))
	}
	formats := []format{loose(mainFormat), loose(combinedFormat), loose(vhostFormat), loose(commonFormat), jsonLines{}}
	f.Fuzz(func(t *testing.T, line []byte) {
		for _, format := range append(formats, detect(line)) {
			s, err := newScanner(&Options{Full: true, Also: []string{"/*"}})
			if err != nil {
				t.Fatal(err)
			}
			var file File
			for range 2 {
				if w := s.reader.read(format, line, &file); w != nil {
					s.queue.push(w)
				}
			}
			s.release(true)
			s.result.Files = []File{file}
			s.result.finish(s.reader.routes, s.opts)
			r := s.result
			if r.Lines != 0 && r.Lines != 2 || r.Broken > r.Lines || r.Repeated > r.Writes || r.Writes > r.Lines || r.Writes == 2 && r.Repeated != 1 {
				t.Errorf("%q: %d lines, %d broken, %d writes, %d repeated", line, r.Lines, r.Broken, r.Writes, r.Repeated)
			}
		}
	})
}

// A format of the site's own: whatever it is, a line gives no more than it has.
func FuzzFormat(f *testing.F) {
	for format, line := range map[string]string{
		`$remote_addr [$time_local] "$request" $status`:  `1.2.3.4 [01/Mar/2026:12:00:00 +0000] "POST /a HTTP/1.1" 200`,
		`%h %{x}i %t "%r" %>s %{User-agent}i`:            `1.2.3.4 - [01/Mar/2026:12:00:00 +0000] "POST /a HTTP/1.1" 200 x`,
		`log_format a '$remote_addr $msec' ' $request';`: `1.2.3.4 1772366400.5 POST /a`, `LogFormat "%h %t \"%r\"" x`: `1.2.3.4 [x] "`, "${": "",
	} {
		f.Add(format, []byte(line))
	}
	f.Fuzz(func(t *testing.T, format string, line []byte) {
		p, err := parseFormat(format)
		var e entry
		if err != nil || !p.cut(line, &e) {
			return
		}
		for field, value := range e {
			if len(value) > len(line) {
				t.Errorf("field %d is %q", field, value)
			}
		}
	})
}
