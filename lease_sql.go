package nebis

import "github.com/nebis-dev/nebis/internal/sqltext"

// leaseSQL is what a lease sends outside of its claim. The databases differ only
// in how they tell the time and take a text. All but the last find the row by its
// key, and all are guarded by a token, so each can be sent again when its answer
// was lost.
//
//	extend  lease in microseconds; key, scope, owner, token
//	end     until, status, response, error; key, scope, owner, token
//	adopt   new token, lease; key, scope, owner, the token that was seen
//	decide  new token, status, response, error, until, keep; id, the token and the status that were seen
//
// until is how many microseconds are left of the lease, or for how many the key of a
// row that is done is remembered; NULL: neither.
type leaseSQL struct{ extend, end, adopt, decide string }

// newLeaseSQL makes the statements for a table: now is the database's clock,
// later what it will show after a number of microseconds, text a text argument.
func newLeaseSQL(table, now, later, text string) leaseSQL {
	set := `UPDATE ` + table + ` SET updated_at = ` + now + `, `
	held := ` WHERE idem_key = ? AND scope = ? AND owner = ? AND token = ? AND status = 'processing'`
	return leaseSQL{
		extend: set + `lease_until = ` + later + held + ` AND lease_until > ` + now,
		end:    set + `lease_until = ` + later + `, status = ?, response = ` + text + `, error = ` + text + held,
		adopt:  set + `token = ?, lease_until = ` + later + `, attempts = attempts + 1` + held + ` AND lease_until <= ` + now,
		decide: set + `token = ?, status = ?, response = ` + text + `, error = ` + text + `, lease_until = ` + later + `, expires_at = ` + later +
			` WHERE id = ? AND token = ? AND status = ?`,
	}
}

// number names the parameters $1, $2, ….
func (l *leaseSQL) number() {
	for _, q := range []*string{&l.extend, &l.end, &l.adopt, &l.decide} {
		*q = sqltext.Numbered(*q)
	}
}

// attemptsAgain counts the runs of a key that was freed; an expired one begins anew.
// MySQL sets columns from left to right: it stands before the status.
const attemptsAgain = `CASE WHEN status = 'failed' THEN attempts + 1 ELSE 1 END`
