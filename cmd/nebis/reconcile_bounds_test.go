package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dburl/dburltest"
	"github.com/nebis-dev/nebis/cmd/internal/reconcile"
	"github.com/nebis-dev/nebis/cmd/internal/shop"
)

// A view may hide a function that writes, and no word of --sql tells.
func TestReconcileIsKeptFromWritingByTheDatabaseAsWell(t *testing.T) {
	dburltest.Everywhere(t, func(t *testing.T, url string) {
		k := newOrders(t, url)
		if k.store.Dialect() == nebis.SQLite {
			t.Skip("its functions cannot write")
		}
		k.order(1, api(1))
		function := "CREATE FUNCTION act() RETURNS INT MODIFIES SQL DATA BEGIN INSERT INTO acts VALUES (1); RETURN 1; END"
		if k.store.Dialect() == nebis.Postgres {
			function = "CREATE FUNCTION act() RETURNS INT LANGUAGE SQL AS 'INSERT INTO acts VALUES (1) RETURNING 1'"
		}
		k.exec("CREATE TABLE acts (n INTEGER)")
		k.exec(function)
		k.exec("CREATE VIEW acting AS SELECT id, act() AS n FROM orders")
		k.want(2, "tries to write", "reconcile", "--scope", "order", "--id", "/data/id", "--sql", "SELECT n FROM acting WHERE id = ?")
		var n int
		if err := k.db.QueryRow("SELECT COUNT(*) FROM acts").Scan(&n); err != nil || n != 0 {
			t.Errorf("it wrote %d times, %v", n, err)
		}
	})
}

// On SQLite it is the connection that cannot write: there are no READ ONLY transactions.
func TestReconcileOpensSQLiteForReadingOnly(t *testing.T) {
	k := newOrders(t, dburltest.SQLite(t))
	f, cmd := &placeFlags{}, &cobra.Command{}
	f.flags(cmd)
	cmd.SetContext(t.Context())
	if err := cmd.Flags().Set("db", k.url); err != nil {
		t.Fatal(err)
	}
	p, err := f.openReadOnly(cmd, env{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.db.Close()
	if _, err := p.db.Exec("DELETE FROM orders"); err == nil {
		t.Error("it may write")
	}
}

// running counts statements on the server that have the mark in them, but for the
// one that counts.
func (k *keyed) running(mark string) (n int) {
	k.t.Helper()
	query := "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE ? AND id <> CONNECTION_ID()"
	if k.store.Dialect() == nebis.Postgres {
		query = "SELECT COUNT(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE $1 AND pid <> pg_backend_pid()"
	}
	if err := k.db.QueryRow(query, "%"+mark+"%").Scan(&n); err != nil {
		k.t.Fatal(err)
	}
	return n
}

// A lookup without an index would take for ever, for each key. Given up, it does not
// go on in the server.
func TestReconcileGivesUpALookupThatIsSlow(t *testing.T) {
	dburltest.Everywhere(t, func(t *testing.T, url string) {
		k := newOrders(t, url)
		for id := range 300 {
			k.exec(fmt.Sprintf("INSERT INTO orders (id, status, qty) VALUES (%d, 'x', 1)", id+1))
		}
		k.order(1000, api(1000))
		endless := "SELECT a.id AS endless_one FROM orders a, orders b, orders c, orders d, orders e WHERE a.id + b.id + c.id + d.id + e.id = 0 - ?"
		k.want(2, "wants an index", "reconcile", "--scope", "order", "--id", "/data/id", "--timeout", "300ms", "--sql", endless)
		if k.store.Dialect() == nebis.SQLite {
			return // has no server
		}
		for k.running("endless_one") > 0 {
			if t.Context().Err() != nil {
				t.Fatal("the lookup goes on")
			}
		}
	})
}

// Who stops a long run gets what was found, and where to go on.
func TestReconcileThatIsStoppedSaysHowFarItCame(t *testing.T) {
	k := newOrders(t, dburltest.SQLite(t))
	for id := range 5 {
		k.order(id+1, api(id+1))
	}
	k.exec("DELETE FROM orders")
	source, err := reconcile.ParseSource("/data/id")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	sum, err := reconcile.Run(ctx, k.db, nebis.SQLite, reconcile.Options{
		Table: "idempotency", Scope: "order", SQL: lookUp, IDs: []reconcile.Source{source}, Limit: 50, Timeout: within,
		Found: func(reconcile.Finding) error { return nil },
		Progress: func(keys int) {
			if keys == 2 {
				stop()
			}
		},
	})
	if err != context.Canceled || sum.Missing != 2 || sum.Last != 4 || sum.Whole {
		t.Errorf("%v, %+v", err, sum)
	}
}

func TestExitCodesOfReconcile(t *testing.T) {
	k := newOrders(t, dburltest.SQLite(t))
	k.order(1, api(1))
	k.exec("UPDATE orders SET note = 'a long remark about ann' WHERE id = 1")
	usual := []string{"reconcile", "--scope", "order", "--sql", lookUp, "--id", "/data/id"}
	for _, c := range []struct {
		code int
		says string
		args []string
	}{
		{0, "Looked to the end.", nil},
		{0, "Compared 0", []string{"--since", "2999-01-01"}},
		{2, `"note" is not like`, []string{"--same", "note"}},
		{2, "--id", []string{"--id", "id"}},
		{2, "--id", []string{"--id", "location:/orders/"}},
		{2, "--same", []string{"--same", "qty=qty"}},
		{2, "--expect", []string{"--expect", "status"}},
		{2, "--limit", []string{"--limit", "0"}},
		{2, "--after", []string{"--after", "-1"}},
		{2, "--since", []string{"--since", "yesterday"}},
		{2, "--timeout", []string{"--timeout", "0s"}},
		{2, "--scope", []string{"--scope", ""}},
		{2, "--sql", []string{"--sql", ""}},
		{2, "there is no table keys", []string{"--table", "keys"}},
		{2, "--table", []string{"--table", "a.b.c"}},
		{2, "mysql://ann@127.0.0.1:1/shop", []string{"--db", "mysql://ann:s3cret@127.0.0.1:1/shop"}},
		{2, "--id says where", []string{"reconcile", "--scope", "order", "--sql", lookUp}},
		{0, "nebis reconcile --db", []string{"reconcile", "--help"}},
	} {
		args := append(append([]string{}, usual...), c.args...)
		if len(c.args) > 0 && c.args[0] == "reconcile" {
			args = c.args
		}
		k.want(c.code, c.says, args...)
	}
	for _, c := range []struct {
		whole string
		wants string
	}{{"", "note is a long remar…, not null"}, {"--keys", "note is a long remark about ann, not null"}} {
		args := append(append([]string{}, usual...), "--same", "note=/note")
		if c.whole != "" {
			args = append(args, c.whole)
		}
		code, stdout, stderr := k.call(args...)
		if code != 1 || stderr != "" || !strings.Contains(stdout, c.wants) || strings.Contains(stdout, "about ann") != (c.whole != "") {
			t.Errorf("exit %d: %s%s", code, stdout, stderr)
		}
	}
}

// The example of the help, on orders of the demo's API and of its form.
func TestReconcileOnTheDemoShop(t *testing.T) {
	dburltest.Everywhere(t, func(t *testing.T, url string) {
		k := newKeyed(t, url, "nebis_demo_idempotency")
		s, err := shop.New(k.db, k.store.Dialect(), slog.New(slog.DiscardHandler), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer(s.Handler())
		defer server.Close()
		client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		order := func(path, media, key, body string) {
			req, _ := http.NewRequest("POST", server.URL+path, strings.NewReader(body))
			req.Header.Set("Content-Type", media)
			req.Header.Set("Idempotency-Key", key)
			res, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			if res.Body.Close(); res.StatusCode != 201 && res.StatusCode != 303 {
				t.Fatalf("%s: %s", key, res.Status)
			}
		}
		for i := range 3 {
			order("/api/orders", "application/json", fmt.Sprint("api-", i), `{"item":"tea","qty":1}`)
			order("/orders", "application/x-www-form-urlencoded", fmt.Sprint("form-", i), "item=tea&qty=2")
		}
		example := []string{
			"reconcile", "--scope", "order", "--id", "location:/orders/{id}", "--sql", "SELECT item, qty, status FROM nebis_demo_orders WHERE id = ?",
			"--same", "item=/item", "--same", "qty=/qty", "--expect", "status=accepted,paid,picked-up",
		}
		k.want(0, "Compared 6: 6 agree", example...)
		k.exec("UPDATE nebis_demo_orders SET status = 'cancelled' WHERE id IN (1, 2)")
		k.exec("UPDATE nebis_demo_orders SET qty = 9 WHERE id IN (3, 4)") // of the form's nobody knows
		k.exec("DELETE FROM nebis_demo_orders WHERE id IN (5, 6)")
		code, stdout, stderr := k.call(example...)
		for _, line := range []string{"missing    no such row", "form-2", "api-2", "qty is 9, not 1", "status is cancelled, not accepted or paid or picked-up", "Compared 6: 1 agree, 2 missing, 3 different, 0 unreadable.", "3 answers have no JSON"} {
			if code != 1 || stderr != "" || !strings.Contains(stdout, line) {
				t.Errorf("exit %d, without %q: %s%s", code, line, stdout, stderr)
			}
		}
	})
}

// Values that a driver or a database writes in its own way are the same values.
func TestReconcileComparesValuesByTheirKind(t *testing.T) {
	dburltest.Everywhere(t, func(t *testing.T, url string) {
		k := newOrders(t, url)
		k.exec("CREATE TABLE kinds (id BIGINT NOT NULL PRIMARY KEY, n DECIMAL(20,4), f DOUBLE PRECISION, b BOOLEAN, t VARCHAR(32), big BIGINT)")
		k.exec("INSERT INTO kinds VALUES (1, 25.5, 0.1, TRUE, '007', 9007199254740993), (2, NULL, 1000000, FALSE, '', -1)")
		answers := map[int]string{
			1: `{"data":{"id":1},"n":25.50,"f":1e-1,"b":true,"t":"007","big":9007199254740993}`,
			2: `{"data":{"id":2},"n":null,"f":1000000,"b":false,"t":"","big":-1}`,
			3: `{"data":{"id":1},"n":25.5001,"f":0.2,"b":false,"t":"7","big":9007199254740992}`,
			4: `{"data":{"id":2},"n":0,"f":"1000001","b":null,"t":null,"big":1}`,
			5: `{"data":{"id":2},"n":{"a":1},"f":1,"b":1,"t":1,"big":1}`,
			6: `{"data":{"id":2},"n":1e999999999,"f":1,"b":false,"t":"","big":-1}`,
		}
		for key := range 6 {
			k.order(key+1, answers[key+1])
		}
		r := k.reconcile(1, "--sql", "SELECT * FROM kinds WHERE id = ?", "--oldest", "--same", "n=/n", "--same", "f=/f", "--same", "b=/b", "--same", "t=/t", "--same", "big=/big")
		got := ""
		for _, f := range r.found {
			got += f.Key + ":"
			for _, d := range f.Differs {
				got += " " + d.Column
			}
			got += f.Why + "\n"
		}
		if want := "k3: n f b t big\nk4: n f b t big\nk5:/n of the answer is not one value\nk6: n f\n"; got != want {
			t.Errorf("%s, wanted %s", got, want)
		}
	})
}
