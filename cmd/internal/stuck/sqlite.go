package stuck

import (
	"context"
	"database/sql"
	"strings"
	"time"
)

// watched is how long the writer's place is watched, at most, and how often it is
// asked for.
const (
	watched = 3 * time.Second
	asked   = 20 * time.Millisecond
)

// SQLite has one writer and tells nobody who it is, nor since when. What can be seen
// from outside is that its place was taken whenever it was asked for.
func sqlite(ctx context.Context, db *sql.DB, over time.Duration) (*Report, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	var patience int
	if err := conn.QueryRowContext(ctx, `PRAGMA busy_timeout`).Scan(&patience); err != nil {
		return nil, err
	}
	if _, err := conn.ExecContext(ctx, `PRAGMA busy_timeout = 0`); err != nil {
		return nil, err
	}
	defer func() {
		// The connection goes back as it was.
		if patience > 0 {
			_, _ = conn.ExecContext(context.WithoutCancel(ctx), `PRAGMA busy_timeout = 5000`)
		}
	}()
	r := &Report{}
	for began := time.Now(); ; time.Sleep(asked) {
		_, err := conn.ExecContext(ctx, `BEGIN IMMEDIATE`)
		switch {
		case err == nil:
			_, err := conn.ExecContext(ctx, `ROLLBACK`)
			return r, err
		case !busy(err):
			r.Limits = append(r.Limits, "whether somebody writes cannot be told with an account that may only read the file")
			return r, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case time.Since(began) >= min(over, watched):
			r.Held = []Transaction{{Age: time.Since(began), State: "a writer was at work all the time; who and since when, SQLite does not tell"}}
			r.Limits = append(r.Limits, "fuser or lsof on the database file tells which processes have it open")
			return r, nil
		}
	}
}

func busy(err error) bool {
	return strings.Contains(err.Error(), "locked") || strings.Contains(err.Error(), "SQLITE_BUSY")
}
