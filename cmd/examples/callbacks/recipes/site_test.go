package recipes

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"strings"
	"sync"
	"testing"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/callback"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

// Three in a row, three at once, and forged: each recipe through the handler.
func TestEachRecipeIsDoneOnce(t *testing.T) {
	for name, r := range recipes(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, db := site(t, r.p, func(ctx context.Context, _ *nebis.Store, tx *sql.Tx, e callback.Event) error {
				_, err := tx.ExecContext(ctx, `INSERT INTO notices VALUES (?)`, e.Delivery)
				return err
			})
			forged := r
			forged.body += " "
			if name == "wechatpay-v2" {
				forged.body = strings.Replace(r.body, "8800", "9900", 1)
			}
			forged.wants(t, url, r.refused)
			var all sync.WaitGroup
			for range 3 {
				all.Go(func() { r.wants(t, url, r.acknowledged) })
			}
			all.Wait()
			for range 3 {
				r.wants(t, url, r.acknowledged)
			}
			var n int
			if err := db.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM notices`).Scan(&n); err != nil || n != 1 {
				t.Errorf("%d rows (%v)", n, err)
			}
		})
	}
}

// What each recipe's provider hears, byte for byte but for the date: to what failed, and
// then to what was done, the first time and again.
func TestWhatIsHeardByteForByte(t *testing.T) {
	const noContent, nothing = "204 No Content\r\nContent-Length: 0\r\n\r\n", "\r\nContent-Length: 0\r\n\r\n"
	xml := func(status string, length int, code, message string) string {
		return fmt.Sprintf("%s\r\nContent-Length: %d\r\nContent-Type: text/xml; charset=utf-8\r\n\r\n"+
			"<xml><return_code><![CDATA[%s]]></return_code><return_msg><![CDATA[%s]]></return_msg></xml>", status, length, code, message)
	}
	wires := map[string][2]string{
		"github":       {"500 Internal Server Error" + nothing, noContent},
		"shopify":      {"500 Internal Server Error" + nothing, "200 OK" + nothing},
		"paypal":       {"500 Internal Server Error" + nothing, "200 OK" + nothing},
		"wechatpay-v2": {xml("500 Internal Server Error", 112, "FAIL", "Internal Server Error"), xml("200 OK", 96, "SUCCESS", "OK")},
	}
	for name, r := range recipes(t) {
		failed := false
		url, _ := site(t, r.p, func(context.Context, *nebis.Store, *sql.Tx, callback.Event) error {
			if !failed {
				failed = true
				return errors.New("out of paper")
			}
			return nil
		})
		for i, want := range []string{wires[name][0], wires[name][1], wires[name][1], wires[name][1]} {
			if got := r.hears(t, url); got != want {
				t.Errorf("%s, answer %d: got %q, want %q", name, i, got, want)
			}
		}
	}
}

func (r recipe) hears(t *testing.T, url string) string {
	t.Helper()
	res, err := http.DefaultClient.Do(r.request(url))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	res.Header.Del("Date")
	text, err := httputil.DumpResponse(res, true)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(string(text), "HTTP/1.1 ")
}

// site has a handler, and an order 7 that is not paid.
func site(t *testing.T, p callback.Provider, fn func(context.Context, *nebis.Store, *sql.Tx, callback.Event) error) (url string, db *sql.DB) {
	t.Helper()
	c := dbtest.Lookup("sqlite-modernc")
	db = c.Open(t)
	store, err := nebis.New(db, c.Dialect, nil)
	if err == nil {
		_, err = store.Migrate(t.Context(), false)
	}
	for _, statement := range []string{
		`CREATE TABLE notices (id TEXT)`,
		`CREATE TABLE orders (status TEXT NOT NULL, points INTEGER NOT NULL, refunds INTEGER NOT NULL)`,
		`INSERT INTO orders VALUES ('pending', 0, 0)`,
	} {
		if err == nil {
			_, err = db.ExecContext(t.Context(), statement)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(callback.Handler(store, p, func(ctx context.Context, tx *sql.Tx, e callback.Event) error {
		return fn(ctx, store, tx, e)
	}, &callback.Options{Log: slog.New(slog.NewTextHandler(t.Output(), nil))}))
	t.Cleanup(srv.Close)
	return srv.URL, db
}

func (r recipe) wants(t *testing.T, url, want string) {
	t.Helper()
	res, err := http.DefaultClient.Do(r.request(url))
	if err != nil {
		t.Error(err)
		return
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if got := fmt.Sprint(res.StatusCode, " ", string(body)); err != nil || got != want {
		t.Errorf("%s (%v), want %s", got, err, want)
	}
}
