package nebis

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/nebis-dev/nebis/internal/sqltext"
)

func (a mysqlAdopter) rows(ctx context.Context, q link, n sqltext.Name, s *shape) error {
	if err := s.askRows(ctx, q, a.quoted(n)); err != nil || !s.rows.any {
		return err
	}
	return a.askForeign(ctx, q, n, s)
}

// SHOW leaves out what this server does not have, where @@name would fail.
const mysqlSettings = `SHOW SESSION VARIABLES WHERE Variable_name IN ('transaction_isolation', 'tx_isolation', 'read_only', 'tx_read_only', 'transaction_read_only', 'autocommit',
  'wait_timeout', 'idle_transaction_timeout', 'idle_write_transaction_timeout', 'innodb_lock_wait_timeout', 'sql_mode', 'max_allowed_packet')`

func (mysqlAdopter) ask(ctx context.Context, q link) (*server, error) {
	v := &server{product: "MySQL", settings: map[string]string{}}
	var micros int64
	sent := time.Now()
	err := q.QueryRowContext(ctx, `SELECT VERSION(), TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))`).Scan(&v.version, &micros)
	if err != nil {
		return nil, err
	}
	v.ahead = ahead(sent, time.Now(), micros)
	if strings.Contains(v.version, "MariaDB") {
		v.product = "MariaDB"
	}
	return v, v.readSettings(ctx, q, mysqlSettings)
}

// ahead returns how far the database's clock is before the program's. It was
// read somewhere between sent and got: in the middle, as a best guess.
func ahead(sent, got time.Time, micros int64) time.Duration {
	return time.UnixMicro(micros).Sub(sent.Add(got.Sub(sent) / 2))
}

// readSettings reads names and values.
func (v *server) readSettings(ctx context.Context, q link, query string) error {
	return each(ctx, q, query, nil, func(scan scanner) error {
		var name, value string
		err := scan(&name, &value)
		v.settings[strings.ToLower(name)] = value
		return err
	})
}

func (v *server) judgeMySQL(fs *findings, o Options) {
	v.judgeHalfOpen(fs)
	if _, known := v.settings["autocommit"]; known && !v.on("autocommit") {
		fs.add(Problem, "autocommit-off", "Take autocommit=0 out of the DSN", "autocommit is off: every read of the pool begins a transaction that nobody ends, with locks and an old snapshot")
	}
	wait, ok := v.number("innodb_lock_wait_timeout")
	if ok && v.product == "MySQL" && wait > int64(seconds(o.WaitPiece)) {
		fs.add(Warning, "lock-wait", fmt.Sprintf("Put innodb_lock_wait_timeout=%d into the DSN", seconds(o.WaitPiece)),
			"innodb_lock_wait_timeout is %d s: every claim sets and restores it, for two round trips more", wait)
	}
	if mode, ok := v.settings["sql_mode"]; ok && !strings.Contains(mode, "STRICT_") {
		fs.add(Warning, "not-strict", "Add STRICT_TRANS_TABLES to sql_mode", "sql_mode is not strict: what does not fit a column is cut or altered without an error")
	}
	// Answers are sent in hex.
	packet, ok := v.number("max_allowed_packet")
	if least := 2*int64(o.MaxResponse) + 64<<10; ok && packet < least {
		fs.add(Warning, "packet", fmt.Sprintf("Set max_allowed_packet to %d or more, or lower Options.MaxResponse", least),
			"max_allowed_packet is %d bytes, too little for the largest answer (%d): saving it would cost the connection", packet, o.MaxResponse)
	}
}

const halfOpen = "a client that loses its power or network in a transaction keeps its key locked for hours"

func (v *server) judgeHalfOpen(fs *findings) {
	wait, ok := v.number("wait_timeout")
	if !ok || wait < 3600 {
		return
	}
	if v.product == "MySQL" {
		fs.add(Warning, "half-open", "Set wait_timeout to some minutes, and the pool's SetConnMaxIdleTime below it", halfOpen+" (wait_timeout is %d s)", wait)
		return
	}
	for _, name := range []string{"idle_write_transaction_timeout", "idle_transaction_timeout"} {
		if n, ok := v.number(name); !ok || n > 0 && n < 3600 {
			return
		}
	}
	fs.add(Warning, "half-open", "Set idle_write_transaction_timeout to a minute or so, above the longest operation", halfOpen+" (idle_write_transaction_timeout is 0, wait_timeout %d s)", wait)
}
