package dburl

import (
	"context"
	"database/sql/driver"
	"errors"
	"net/url"
	"strings"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/nebis-dev/nebis"
)

// parseSQLite leaves transactions deferred: Nebis's first statement in one is an
// INSERT, which waits for busy_timeout. One that began with a read would not.
func parseSQLite(file string) (Target, error) {
	switch {
	case file == "" || strings.HasPrefix(file, "//"):
		return Target{}, errors.New("a SQLite database is written sqlite:FILE, such as sqlite:shop.db or sqlite:/var/lib/shop.db")
	case strings.HasPrefix(file, ":memory:"):
		return Target{}, errors.New("a SQLite database in memory would be another one for each connection: give a file, sqlite:FILE")
	}
	settings := url.Values{"_pragma": {
		"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(NORMAL)", "foreign_keys(ON)",
	}}
	dsn := (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: file}).EscapedPath(), RawQuery: settings.Encode()}).String()
	return Target{nebis.SQLite, "sqlite", dsn, "sqlite:" + file}, nil
}

// Existing is the same database for a command that looks after what is there: a
// SQLite file is not made, and keeps its journal mode.
func (t Target) Existing() Target {
	if t.Dialect == nebis.SQLite {
		file, _, _ := strings.Cut(t.DSN, "?")
		t.DSN = file + "?" + url.Values{"mode": {"rw"}, "_pragma": {"busy_timeout(5000)"}}.Encode()
	}
	return t
}

// patient connects to SQLite. When several processes open a new file at once, one
// of them changes it to WAL, and the others are told that it is busy, whatever
// busy_timeout says.
type patient struct {
	driver driver.Driver
	dsn    string
}

// How long patient tries, and how often.
const (
	connectWithin = 10 * time.Second
	connectPause  = 10 * time.Millisecond
)

func (p patient) Driver() driver.Driver { return p.driver }

func (p patient) Connect(ctx context.Context) (driver.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectWithin)
	defer cancel()
	for {
		conn, err := p.driver.Open(p.dsn)
		if !isBusy(err) {
			return conn, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(connectPause):
		}
	}
}

func isBusy(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code()&0xff == sqlite3.SQLITE_BUSY
}
