package nebis

import (
	"database/sql"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A server is what a database tells about itself and about the session.
type server struct {
	product  string // MySQL, MariaDB, PostgreSQL, SQLite
	version  string
	settings map[string]string // by their names in the database, lower case
	ahead    time.Duration     // its clock before the program's; negative: behind
}

// The oldest version of each product that the Store works on.
var oldest = map[string]string{"MySQL": "5.6", "MariaDB": "10.6", "PostgreSQL": "13", "SQLite": "3.35"}

func (v *server) tooOld(fs *findings) bool {
	old := older(v.version, oldest[v.product])
	if old {
		fs.add(Problem, "server-old", "Upgrade it", "%s %s is older than %s, the oldest that can keep the promise", v.product, v.version, oldest[v.product])
	}
	return old
}

// older compares versions such as 10.11.19-MariaDB, number by number.
func older(version, least string) bool {
	split := func(s string) []int {
		var all []int
		for _, p := range strings.FieldsFunc(s, func(r rune) bool { return r < '0' || r > '9' }) {
			n, _ := strconv.Atoi(p)
			all = append(all, n)
		}
		return all
	}
	have, want := split(version), split(least)
	return len(have) > 0 && slices.Compare(have[:min(len(have), len(want))], want) < 0
}

// number returns a setting as a number, or false where it could not be read.
func (v *server) number(name string) (int64, bool) {
	n, err := strconv.ParseInt(v.settings[name], 10, 64)
	return n, err == nil
}

// on reports whether a setting is there and is on.
func (v *server) on(name string) bool {
	s := strings.ToLower(v.settings[name])
	return s == "1" || s == "on"
}

// The settings that Check wants to know, where the product has them. One of
// several names is enough.
var wanted = map[string][]string{
	"MySQL":      {"transaction_isolation|tx_isolation", "autocommit", "read_only", "wait_timeout", "innodb_lock_wait_timeout", "sql_mode", "max_allowed_packet"},
	"MariaDB":    {"transaction_isolation|tx_isolation", "autocommit", "read_only", "idle_write_transaction_timeout", "idle_transaction_timeout", "wait_timeout", "sql_mode", "max_allowed_packet"},
	"PostgreSQL": {"default_transaction_isolation", "transaction_read_only", "idle_in_transaction_session_timeout", "tcp_keepalives_idle"},
	"SQLite":     {"busy_timeout", "synchronous", "journal_mode", "query_only", "read_uncommitted"},
}

// judge says what is wrong with the settings.
func (v *server) judge(fs *findings, o Options) {
	v.judgeAll(fs, o)
	switch v.product {
	case "MySQL", "MariaDB":
		v.judgeMySQL(fs, o)
	case "PostgreSQL":
		v.judgePostgres(fs)
	case "SQLite":
		v.judgeSQLite(fs)
	}
	var unread []string
	for _, names := range wanted[v.product] {
		if !slices.ContainsFunc(strings.Split(names, "|"), func(n string) bool { _, ok := v.settings[n]; return ok }) {
			unread = append(unread, strings.ReplaceAll(names, "|", " or "))
		}
	}
	if unread != nil {
		fs.add(Note, "not-read", "Look at them with an account that may", "these settings could not be read: %s", strings.Join(unread, ", "))
	}
}

// clockOff is how far the clocks may be apart. The Store goes by the database's
// alone; people read logs by both.
const clockOff = 30 * time.Second

func (v *server) judgeAll(fs *findings, o Options) {
	if v.ahead.Abs() > clockOff {
		where := "ahead of"
		if v.ahead < 0 {
			where = "behind"
		}
		fs.add(Warning, "clock", "Let both follow a time server", "the database's clock is %v %s this program's", v.ahead.Abs().Round(time.Second), where)
	}
	session := v.settings["transaction_isolation"] + v.settings["tx_isolation"] + v.settings["default_transaction_isolation"]
	// The Store reads outside of its transactions, too, at the session's level.
	loose := strings.EqualFold(strings.ReplaceAll(session, "-", " "), "read uncommitted")
	if loose || o.Isolation == sql.LevelReadUncommitted || v.on("read_uncommitted") {
		fs.add(Problem, "read-uncommitted", "Use READ COMMITTED or higher", "transactions or reads outside of them run at READ UNCOMMITTED: an operation counts as done before it is committed")
	}
	if v.on("read_only") || v.on("tx_read_only") || v.on("transaction_read_only") || v.on("query_only") {
		fs.add(Problem, "read-only", "Give the Store the primary", "this database does not take writes (a replica, a standby, or a read-only session)")
	}
}

func (v *server) judgePostgres(fs *findings) {
	idle, ok := v.number("idle_in_transaction_session_timeout")
	if ok && (idle == 0 || idle > time.Hour.Milliseconds()) {
		keep := ""
		if s, ok := v.number("tcp_keepalives_idle"); ok && (s == 0 || s > 600) {
			keep = ", and tcp_keepalives_idle=60 in the server's configuration"
		}
		fs.add(Warning, "half-open", "Set idle_in_transaction_session_timeout to a minute or so, above the longest operation"+keep,
			"a client that loses its power or network in a transaction keeps its key locked for hours (idle_in_transaction_session_timeout is %d ms)", idle)
	}
}

func (v *server) judgeSQLite(fs *findings) {
	if n, ok := v.number("busy_timeout"); ok && n == 0 {
		fs.add(Warning, "busy-timeout", "Set busy_timeout to 5000 in the DSN", "busy_timeout is 0: an operation fails at once while another process writes")
	}
	if v.settings["synchronous"] == "0" {
		fs.add(Warning, "synchronous-off", "Set synchronous to NORMAL or FULL", "synchronous is OFF: a power cut can damage the file, and with it the memory of what was done")
	}
	switch mode := strings.ToLower(v.settings["journal_mode"]); mode {
	case "off":
		fs.add(Problem, "journal-off", "Set journal_mode to WAL", "journal_mode is OFF: nothing can be rolled back")
	case "memory":
		fs.add(Warning, "journal-memory", "Set journal_mode to WAL", "journal_mode is MEMORY: a crash in a transaction damages the file")
	case "delete", "truncate", "persist":
		fs.add(Note, "journal-mode", "Set journal_mode to WAL, unless the file is on a network drive", "journal_mode is %s: readers and the writer wait for each other", mode)
	}
}
