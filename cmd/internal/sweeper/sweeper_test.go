package sweeper

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/nebis-dev/nebis"
)

func TestItCleansAgainAndAgainUntilTheProgramEnds(t *testing.T) {
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "keys.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	store, err := nebis.New(db, nebis.SQLite, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Migrate(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var log bytes.Buffer
	swept := 0
	keys, rounds := Keys(store, func(rows int, err error) { swept += rows }), 0
	job := Job{keys.Name, func(ctx context.Context) (int, error) {
		switch rounds++; rounds {
		case 1, 2:
			if _, err := db.Exec("INSERT INTO idempotency (idem_key, scope, status, token, expires_at) VALUES ('k', 'order', 'done', 't', '2001-01-01 00:00:00')"); err != nil {
				t.Error(err)
			}
		case 3:
			return 0, errors.New("no database")
		case 4:
			stop()
		}
		return keys.Clean(ctx)
	}}
	Beside(ctx, time.Millisecond, slog.New(slog.NewTextHandler(&log, nil)), job)()
	if s := log.String(); rounds != 4 || swept != 2 || strings.Count(s, "table=idempotency removed=1") != 2 || strings.Count(s, "no database") != 1 {
		t.Errorf("%d rounds, %s", rounds, s)
	}
}

func TestOffMeansNever(t *testing.T) {
	Beside(t.Context(), 0, slog.Default(), Job{"t", func(context.Context) (int, error) { panic("cleaned") }})()
}
