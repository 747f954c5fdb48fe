package find

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"

	"github.com/nebis-dev/nebis/cmd/internal/report"
)

// shownGroups is how many of the newest groups a report lists.
const shownGroups = 20

// Cause is why a row was probably written again.
type Cause string

// The causes that a gap can show.
const (
	DoubleClick Cause = "double_click"
	Retry       Cause = "retry"
	Callback    Cause = "callback"
	Later       Cause = "later"
)

// Causes are all of them.
var Causes = []Cause{DoubleClick, Retry, Callback, Later}

// Result is what a table has told. The tags name it in JSON.
type Result struct {
	Table      string        `json:"table"`
	At         string        `json:"at"`
	ProposedAt bool          `json:"proposed_at"`
	Same       []string      `json:"same"`
	Proposed   bool          `json:"proposed_same"`
	LeftOut    []string      `json:"left_out,omitempty"`
	Window     float64       `json:"window_seconds"`
	Where      string        `json:"where,omitempty"`
	Since      time.Time     `json:"since,omitzero"`
	From       time.Time     `json:"from,omitzero"`
	To         time.Time     `json:"to,omitzero"`
	Rows       int           `json:"rows"`     // read
	Earlier    int           `json:"earlier"`  // of them before Since
	Timeless   int           `json:"timeless"` // of them without a time that can be read
	Late       int           `json:"late"`     // an hour or more older than a row with a smaller id
	WholeSecs  bool          `json:"whole_seconds"`
	Groups     int           `json:"groups"`
	Surplus    int           `json:"surplus"`
	Sum        string        `json:"sum,omitempty"`     // the column
	Total      string        `json:"total,omitempty"`   // over the surplus
	Unadded    int           `json:"unadded,omitempty"` // values that are no numbers
	Gaps       report.Gaps   `json:"gaps"`
	Causes     map[Cause]int `json:"causes"`
	Newest     []*Group      `json:"newest"`

	window   time.Duration
	full     bool
	location *time.Location
	from, to int64
	total    big.Rat
	decimals int
	wall     bool
}

// Group is a row with its duplicates.
type Group struct {
	First time.Time `json:"first"`
	Rows  int       `json:"rows"`
	Gaps  []float64 `json:"gaps_seconds"`  // of the first few
	IDs   []string  `json:"ids,omitempty"` // of the first few, with Full only

	at int64
}

// shownRows is how much of a group is shown.
const shownRows = 10

func newResult(f *finder) *Result {
	return &Result{
		Table: f.table.name, Window: f.opts.Within.Seconds(), Where: f.opts.Where, Since: f.opts.Since, Causes: map[Cause]int{},
		Newest: []*Group{}, window: f.opts.Within, full: f.opts.Full, location: f.opts.Location,
	}
}

// Found tells whether there is any duplicate.
func (r *Result) Found() bool { return r.Groups > 0 }

func (r *Result) span(at int64) {
	if r.from == 0 || at < r.from {
		r.from = at
	}
	r.to = max(r.to, at)
}

// group counts a chain of rows.
func (r *Result) group(rows []row) {
	r.Groups++
	r.Surplus += len(rows) - 1
	g := &Group{First: time.UnixMicro(rows[0].at).In(r.location), Rows: len(rows), at: rows[0].at}
	for i, one := range rows {
		if i < shownRows && r.full {
			g.IDs = append(g.IDs, one.id)
		}
		if i == 0 {
			continue
		}
		gap := time.Duration(one.at-rows[i-1].at) * time.Microsecond
		r.Gaps.Add(gap)
		r.Causes[causeOf(gap)]++
		if i < shownRows {
			g.Gaps = append(g.Gaps, gap.Seconds())
		}
		r.add(one.amount)
	}
	r.keep(g)
}

// keep remembers the newest.
func (r *Result) keep(g *Group) {
	i, _ := slices.BinarySearchFunc(r.Newest, g, func(a, b *Group) int { return cmp.Compare(b.at, a.at) })
	r.Newest = slices.Insert(r.Newest, i, g)
	if len(r.Newest) > shownGroups {
		r.Newest = r.Newest[:shownGroups]
	}
}

// add sums exactly: money is no place for binary fractions.
func (r *Result) add(amount string) {
	if r.Sum == "" || amount == "" {
		return
	}
	var one big.Rat
	amount = plain(amount)
	if _, ok := one.SetString(strings.TrimLeft(amount, "$¥€£")); !ok || strings.ContainsAny(amount, "/eE") {
		r.Unadded++
		return
	}
	if _, fraction, ok := strings.Cut(amount, "."); ok {
		r.decimals = max(r.decimals, len(fraction))
	}
	r.total.Add(&r.total, &one)
}

// finish makes the result fit to be shown; a table none of whose rows has a time
// has told nothing.
func (r *Result) finish(s *search) error {
	if r.Rows > 0 && r.Timeless == r.Rows {
		return Mistakef("no value of %s can be read as a time: it takes timestamps, text such as 2006-01-02 15:04:05, and seconds or milliseconds since 1970", r.At)
	}
	if r.from != 0 {
		r.From, r.To = time.UnixMicro(r.from).In(r.location), time.UnixMicro(r.to).In(r.location)
	}
	r.WholeSecs = r.Rows > 0 && !s.timer.finer
	r.wall = s.timer.wall
	if !s.order.hold && s.order.since == "" {
		return r.sum()
	}
	r.Late = 0 // of no consequence where nothing is forgotten
	return r.sum()
}

func (r *Result) sum() error {
	if r.Sum == "" {
		return nil
	}
	if r.Unadded > 0 && r.total.Sign() == 0 {
		return Mistakef("the values of %s are no numbers that could be added up", r.Sum)
	}
	r.Total = r.total.FloatString(r.decimals)
	return nil
}

// The codes by which the databases say that a read-only transaction would write.
const (
	mysqlReadOnly    = 1792
	postgresReadOnly = "25006"
	sqliteReadOnly   = 8
)

// explain adds what the database's own message leaves open.
func explain(err error) error {
	if Writes(err) {
		return Mistakef("--where, or the view, tries to write, and nothing here may: %w", err)
	}
	return fmt.Errorf("read: %w", err)
}

// Writes reports whether a database's error says that a read-only transaction would
// write.
func Writes(err error) bool {
	var my *mysql.MySQLError
	var pg *pgconn.PgError
	var lite *sqlite.Error
	return errors.As(err, &my) && my.Number == mysqlReadOnly || errors.As(err, &pg) && pg.Code == postgresReadOnly ||
		errors.As(err, &lite) && lite.Code()&0xff == sqliteReadOnly
}
