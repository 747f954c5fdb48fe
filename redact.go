package nebis

import (
	"errors"
	"regexp"
	"strings"
)

// A redacted is a database's error for an operation, fit to be logged: servers
// quote what they refuse, cut to a length of their own, and that is keys, owners
// and answers.
type redacted struct {
	error
	op Op
}

func (e redacted) Unwrap() error { return e.error }

// plain is e as an error without the database's.
func (e redacted) plain() error { return errors.New(e.Error()) }

// quoting are the errors of MySQL and MariaDB that quote a value: duplicate entry,
// incorrect value, data too long, out of range, truncated.
var quoting = regexp.MustCompile(`\b(1062|1264|1265|1292|1300|1366|1406|1586)\b`)

// shortest is the length from which a word can be taken out of a text without
// making it unreadable.
const shortest = 4

func (e redacted) Error() string {
	text := e.error.Error()
	if quoting.MatchString(text) {
		text, _, _ = strings.Cut(text, "'")
		text = strings.TrimSpace(text) + " …"
	}
	for _, secret := range []string{e.op.Key, e.op.Owner} {
		if len(secret) >= shortest {
			text = strings.ReplaceAll(text, secret, "…")
		}
	}
	return text
}
