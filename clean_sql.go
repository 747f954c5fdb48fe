package nebis

import (
	"database/sql"
	"strconv"
	"strings"

	"github.com/nebis-dev/nebis/internal/sqltext"
)

// cleanSQL is what clean-up sends. A batch is picked by the index on the expiry,
// without a lock, then locked and removed by id, as a takeover goes about it: two
// ways to a row would be two orders in which its locks are taken.
//
//	stamp   keep in microseconds, limit: rows of old code get an expiry
//	pick    older, floor, limit: id, whether the key is to be remembered (Op.KeepSeen), expiry
//	lock    older: the same but the expiry, of some rows that pick would have; empty where pick locks
//	drop    removes some rows
//	fade    takes the answer out of some rows, which then expire when the key is no longer remembered
//	count   older, limit: how many rows, and how many of them to remember
//	take    token, lease in microseconds: the turn to sweep; whose reads its id and token
//	hold    lease, id, token: the turn goes on
//	leave   response, id, token: the turn is over; quit leaves without one
//
// older, in microseconds, is for how long a row must have expired; floor is an
// expiry below which nothing is left.
type cleanSQL struct {
	stamp, pick, lock, drop, fade, count string
	take, whose, hold, leave, quit       string

	level   sql.IsolationLevel // of its transactions
	nothing string             // a floor below every expiry
	between string             // ids, which are written into the text for {ids}, or go as one argument
	expired string             // the condition, with older
	seen    string             // whether the key is to be remembered: 1 or 0
}

// A cleaner is how one database says what clean-up needs.
type cleaner struct {
	table      string // quoted
	now, later string // as in newLeaseSQL
	cut        string // the clock, so many microseconds ago
	floor, at  string // an expiry as an argument, and as it is read
	nothing    string
	ids        string // the condition that a row is one of some
	keep       string // keeps a column from being set to the time of each update
	upsert     string // for an insert of the turn's row: what becomes of one that is there
}

func (c cleaner) sql() cleanSQL {
	expired := `expires_at <= ` + c.cut + ` AND (status <> 'processing' OR token IS NULL)`
	seen := `CASE WHEN status = 'done' AND lease_until > ` + c.now + ` THEN 1 ELSE 0 END`
	update, mine := `UPDATE `+c.table+` SET `, ` WHERE id = ? AND token = ?`
	return cleanSQL{
		pick:    `SELECT id, ` + seen + `, ` + c.at + ` FROM ` + c.table + ` WHERE ` + expired + ` AND expires_at >= ` + c.floor + ` ORDER BY expires_at LIMIT ?`,
		drop:    `DELETE FROM ` + c.table + ` WHERE ` + c.ids,
		fade:    update + `response = NULL, expires_at = lease_until WHERE ` + c.ids,
		expired: expired,
		seen:    seen,
		count:   `SELECT COUNT(*), COALESCE(SUM(seen), 0) FROM (SELECT ` + seen + ` AS seen FROM ` + c.table + ` WHERE ` + expired + ` ORDER BY expires_at LIMIT ?) AS due`,
		take: `INSERT INTO ` + c.table + ` (idem_key, scope, owner, status, token, lease_until, created_at, updated_at)
VALUES ('sweep', 'nebis.sweep', '*', 'done', ?, ` + c.later + `, ` + c.now + `, ` + c.now + `) ` + c.upsert,
		whose:   `SELECT id, COALESCE(token, '') FROM ` + c.table + ` WHERE idem_key = 'sweep' AND scope = 'nebis.sweep' AND owner = '*'`,
		hold:    update + c.keep + `expires_at = NULL, lease_until = ` + c.later + mine,
		leave:   update + `lease_until = NULL, updated_at = ` + c.now + `, response = ?` + mine,
		quit:    update + c.keep + `lease_until = NULL` + mine,
		nothing: c.nothing,
		between: ",",
	}
}

// number names the parameters $1, $2, ….
func (c *cleanSQL) number() {
	for _, q := range []*string{&c.stamp, &c.pick, &c.lock, &c.drop, &c.fade, &c.count, &c.take, &c.hold, &c.leave, &c.quit} {
		*q = sqltext.Numbered(*q)
	}
}

// of makes a statement about some rows. Their ids are numbers that came from the
// table.
func (c *cleanSQL) of(stmt string, rows []due) (string, []any) {
	var b strings.Builder
	for i, r := range rows {
		if i > 0 {
			b.WriteString(c.between)
		}
		b.WriteString(strconv.FormatInt(r.id, 10))
	}
	if strings.Contains(stmt, "{ids}") {
		return strings.Replace(stmt, "{ids}", b.String(), 1), nil
	}
	return stmt, []any{b.String()}
}
