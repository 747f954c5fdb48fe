package outbox

import (
	"fmt"
	"strings"

	"github.com/nebis-dev/nebis/internal/sqltext"
)

// statements are the SQL of one table. The databases differ only in what a
// dialect says. Those with a list in them get their parameters' numbers later.
//
//	add         name, key, payload
//	look        names, limit
//	take        token, lease; names, limit
//	takeOne     token, lease; id, state, attempts, compensations as they were seen
//	extend      lease; id, token
//	end         state, delay, error, result; id, token
//	now         id
//	list        as its conditions want, limit
//	retry, park, compensate  error; id, state, attempts, compensations as they were seen
//	purge       the negative of the keep time, limit
type statements struct {
	add, extend, end, now    string
	retry, park, compensate  string
	purge, probe, takeWriter string
	look, take               string // with {list} for the parameters of the names
	takeOne, takeThese       string // takeThese with {list} for those of the ids
	list                     string // with {where}
}

// listed puts n parameters in for {list}.
func listed(q string, n int) string {
	return strings.Replace(q, "{list}", strings.TrimSuffix(strings.Repeat("?, ", n), ", "), 1)
}

// held is a row that its worker may still save. A token is there as long as one
// has it.
const held = ` WHERE id = ? AND token = ? AND state IN ('running', 'compensating')`

// unchanged is a row as it was seen: these three say which step of its life it
// is in.
const unchanged = ` WHERE id = ? AND state = ? AND attempts = ? AND compensations = ?`

func newStatements(d *dialect, n sqltext.Name) *statements {
	t := n.Quoted(d.quote)
	set := `UPDATE ` + t + ` SET updated_at = ` + d.now + `, `
	due := `due_at <= ` + d.now
	decided := `token = NULL, error = ` + d.text + unchanged + ` AND (token IS NULL OR ` + due + `)`
	// A compensation keeps its state. MySQL sets columns from left to right.
	taking := `updated_at = ` + d.now + `, token = ?, due_at = ` + d.later + `,
  attempts = attempts + CASE WHEN state = 'compensating' THEN 0 ELSE 1 END,
  compensations = compensations + CASE WHEN state = 'compensating' THEN 1 ELSE 0 END,
  state = CASE WHEN state = 'compensating' THEN 'compensating' ELSE 'running' END`
	columns := d.columns(`payload`, `result`)
	s := new(statements)
	s.add = `INSERT INTO ` + t + ` (name, call_key, payload, state, due_at, created_at, updated_at)
VALUES (?, ?, ` + d.text + `, 'pending', ` + d.now + `, ` + d.now + `, ` + d.now + `)`
	s.extend = set + `due_at = ` + d.later + held + ` AND due_at > ` + d.now
	s.end = set + `state = ?, due_at = ` + d.later + `, token = NULL, error = ` + d.text + `, result = ` + d.text + held
	s.now = `SELECT ` + columns + ` FROM ` + t + ` WHERE id = ?`
	s.retry = set + `state = 'pending', attempts = 0, compensations = 0, due_at = ` + d.now + `, ` + decided
	s.park = set + `state = 'dead', due_at = NULL, ` + decided
	s.compensate = set + `state = 'compensating', compensations = 0, due_at = ` + d.now + `, ` + decided
	s.purge = fmt.Sprintf(d.purge, t, `state IN ('done', 'compensated') AND updated_at <= `+d.later)
	s.probe = `SELECT ` + columns + ` FROM ` + t + ` WHERE 1 = 0`
	if d.takeWriter != "" {
		s.takeWriter = fmt.Sprintf(d.takeWriter, t)
	}
	mine := due + ` AND name IN ({list})`
	s.look = `SELECT ` + columns + ` FROM ` + t + ` WHERE ` + mine + ` ORDER BY due_at LIMIT ?`
	if d.take != "" {
		s.take = fmt.Sprintf(d.take, t, taking, mine, columns)
	}
	s.takeOne = `UPDATE ` + t + ` SET ` + taking + unchanged + ` AND ` + due
	s.takeThese = `UPDATE ` + t + ` SET ` + taking + ` WHERE id IN ({list})`
	s.list = `SELECT ` + d.columns(`NULL`, `NULL`) + ` FROM ` + t + `{where} ORDER BY id DESC LIMIT ?`
	for _, q := range []*string{&s.add, &s.extend, &s.end, &s.now, &s.retry, &s.park, &s.compensate, &s.purge, &s.takeOne} {
		*q = d.final(*q)
	}
	return s
}

// columns are those of a Job, in the order of scanJob.
func (d *dialect) columns(payload, result string) string {
	text := func(c string) string { return fmt.Sprintf(d.read, c) }
	micros := func(c string) string { return fmt.Sprintf(d.micros, c) }
	return strings.Join([]string{
		`id`, `name`, `state`, `call_key`, text(payload), `attempts`, `compensations`, text(`error`), text(result),
		micros(`due_at`), micros(`created_at`), micros(`updated_at`),
		`CASE WHEN token IS NULL THEN 0 ELSE 1 END`, `CASE WHEN due_at <= ` + d.now + ` THEN 1 ELSE 0 END`,
	}, ", ")
}
