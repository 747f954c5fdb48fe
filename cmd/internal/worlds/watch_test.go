package worlds

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"regexp"
	"testing"
	"time"
)

// watch returns a connector that shows everything that is sent to see.
func watch(c driver.Connector, see func(query string, args []driver.NamedValue)) driver.Connector {
	return watched{c, see}
}

// connector returns the connector of a registered driver.
func connector(t *testing.T, name, dsn string) driver.Connector {
	db, err := sql.Open(name, dsn)
	must(t, err)
	defer db.Close()
	if d, ok := db.Driver().(driver.DriverContext); ok {
		c, err := d.OpenConnector(dsn)
		must(t, err)
		return c
	}
	return opener{db.Driver(), dsn}
}

// opener is the connector of a driver that has none.
type opener struct {
	d   driver.Driver
	dsn string
}

func (o opener) Connect(context.Context) (driver.Conn, error) { return o.d.Open(o.dsn) }
func (o opener) Driver() driver.Driver                        { return o.d }

type seer func(query string, args []driver.NamedValue)

type watched struct {
	driver.Connector
	see seer
}

func (w watched) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := w.Connector.Connect(ctx)
	return &watchedConn{c, w.see}, err
}

// All drivers that are used here have the optional methods.
type watchedConn struct {
	driver.Conn
	see seer
}

func (c *watchedConn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	return c.Conn.(driver.ConnBeginTx).BeginTx(ctx, o)
}

func (c *watchedConn) ExecContext(ctx context.Context, q string, args []driver.NamedValue) (driver.Result, error) {
	c.see(q, args)
	return c.Conn.(driver.ExecerContext).ExecContext(ctx, q, args)
}

func (c *watchedConn) QueryContext(ctx context.Context, q string, args []driver.NamedValue) (driver.Rows, error) {
	c.see(q, args)
	return c.Conn.(driver.QueryerContext).QueryContext(ctx, q, args)
}

func (c *watchedConn) PrepareContext(ctx context.Context, q string) (driver.Stmt, error) {
	c.see(q, nil)
	s, err := c.Conn.(driver.ConnPrepareContext).PrepareContext(ctx, q)
	return &watchedStmt{s, q, c.see}, err
}

type watchedStmt struct {
	driver.Stmt
	query string
	see   seer
}

func (s *watchedStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	s.see(s.query, args)
	return s.Stmt.(driver.StmtExecContext).ExecContext(ctx, args)
}

func (s *watchedStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	s.see(s.query, args)
	return s.Stmt.(driver.StmtQueryContext).QueryContext(ctx, args)
}

var (
	date   = regexp.MustCompile(`\d{4}-\d\d-\d\d`)
	number = regexp.MustCompile(`\d{10,}`)
)

// timeIn says what in a statement or its arguments looks like a time.
func timeIn(query string, args []driver.NamedValue) string {
	texts := []string{query}
	for _, a := range args {
		switch v := a.Value.(type) {
		case time.Time:
			return fmt.Sprintf("the time %v", v)
		case []byte:
			texts = append(texts, string(v))
		default:
			texts = append(texts, fmt.Sprint(v))
		}
	}
	for _, s := range texts {
		for _, d := range date.FindAllString(s, -1) {
			if day, err := time.Parse(time.DateOnly, d); err == nil && time.Since(day).Abs() < most {
				return "the date " + d
			}
		}
		for _, n := range number.FindAllString(s, -1) {
			if near(n) {
				return "the time " + n
			}
		}
	}
	return ""
}

// most is how far a time may be from now to be taken for the program's own.
const most = 72 * time.Hour

// near reports whether a number is about the time since 1970 in any unit.
func near(digits string) bool {
	var n int64
	if _, err := fmt.Sscan(digits, &n); err != nil {
		return false
	}
	for _, unit := range []time.Duration{time.Second, time.Millisecond, time.Microsecond, time.Nanosecond} {
		if time.Duration(n-time.Now().UnixNano()/int64(unit)).Abs() < most/unit {
			return true
		}
	}
	return false
}
