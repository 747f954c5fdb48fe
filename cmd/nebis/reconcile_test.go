package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dburl/dburltest"
	"github.com/nebis-dev/nebis/cmd/internal/reconcile"
)

const lookUp = "SELECT status, qty, note FROM orders WHERE id = ?"

// newOrders has, beside the keys, a table of the business.
func newOrders(t *testing.T, url string) *keyed {
	t.Helper()
	k := newKeyed(t, url, "")
	k.exec("CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY, status VARCHAR(32) NOT NULL, qty DECIMAL(10,2) NOT NULL, note VARCHAR(64))")
	return k
}

// order writes a row, and its answer under the key k<id>, in one transaction.
func (k *keyed) order(id int, answer string) {
	k.t.Helper()
	op := nebis.Op{Scope: "order", Owner: "ann", Key: fmt.Sprintf("k%d", id), MaxResponse: 2000}
	_, _, err := nebis.Do(k.t.Context(), k.store, op, func(ctx context.Context, tx *sql.Tx) (json.RawMessage, error) {
		_, err := tx.ExecContext(ctx, fmt.Sprintf("INSERT INTO orders (id, status, qty, note) VALUES (%d, 'accepted', %d, NULL)", id, id))
		return json.RawMessage(answer), err
	})
	if err != nil {
		k.t.Error(err)
	}
}

// api is an answer as a program gets it, form as a browser does.
func api(id int) string {
	body, _ := json.Marshal(fmt.Sprintf(`{"data":{"id":%d},"status":"accepted","qty":%d,"note":null}`, id, id))
	return fmt.Sprintf(`{"status":201,"header":{"Content-Type":["application/json"]},"body":%s}`, body)
}

func form(id int) string {
	return fmt.Sprintf(`{"status":303,"header":{"Location":["/shop/orders/%d?new=1"]}}`, id)
}

type reconciled struct {
	found []reconcile.Finding
	sum   reconcile.Sum
}

// reconcile runs the command with --json.
func (k *keyed) reconcile(code int, args ...string) (r reconciled) {
	k.t.Helper()
	got, stdout, stderr := k.call(append([]string{"reconcile", "--json", "--scope", "order", "--sql", lookUp, "--id", "/data/id", "--id", "location:/orders/{id}"}, args...)...)
	if got != code || stderr != "" {
		k.t.Fatalf("exit %d, wanted %d: %s%s", got, code, stdout, stderr)
	}
	lines := slices.Collect(strings.Lines(stdout))
	for _, line := range lines[:len(lines)-1] {
		var f reconcile.Finding
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			k.t.Fatalf("%v: %s", err, line)
		}
		r.found = append(r.found, f)
	}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &r.sum); err != nil {
		k.t.Fatal(err)
	}
	return r
}

// String has a line for each finding.
func (r reconciled) String() string {
	var b strings.Builder
	for _, f := range r.found {
		fmt.Fprintf(&b, "%s %s", f.Key, f.Verdict)
		for _, d := range f.Differs {
			have := "NULL"
			if d.Have != nil {
				have = *d.Have
			}
			fmt.Fprintf(&b, " %s=%s", d.Column, have)
		}
		b.WriteString(map[bool]string{true: " (" + f.Why + ")"}[f.Why != ""] + "\n")
	}
	return b.String()
}

func TestReconcileFindsExactlyWhatIsNotAsAnswered(t *testing.T) {
	dburltest.Everywhere(t, func(t *testing.T, url string) {
		k := newOrders(t, url)
		for id := range 20 {
			if id%2 == 0 {
				k.order(id+1, api(id+1))
			} else {
				k.order(id+1, form(id+1))
			}
		}
		k.order(21, `{"status":409,"body":"{}"}`)                                       // a refusal that was kept
		k.order(22, `{"status":200,"body":"`+strings.Repeat("x", 3000)+`"}`)            // too large to be kept
		k.order(23, `{"status":200,"header":{"Location":["/orders/23"]},"not_kept":9}`) // but where it is
		k.order(24, `{"status":200,"body":"thank you"}`)
		k.order(25, `{"data":{"id":"25"},"status":"accepted","qty":25.0,"note":null}`) // of a program that calls Do
		k.order(26, `{"status":303,"header":{"Location":["/orders/new"]}}`)
		k.exec("DELETE FROM orders WHERE id IN (3, 4)")
		k.exec("UPDATE orders SET status = 'cancelled' WHERE id IN (5, 6)")
		k.exec("UPDATE orders SET qty = 7.01, note = 'changed' WHERE id = 7")
		before := k.everything()
		got := k.reconcile(1, "--expect", "status=accepted,paid", "--same", "qty=/qty", "--same", "NOTE=/note")
		want := "k24 unreadable (the answer has no /data/id, nor location:/orders/{id})\nk7 different qty=7.01 NOTE=changed\nk6 different status=cancelled\nk5 different status=cancelled\nk4 missing\nk3 missing\n"
		// MySQL and SQLite compare any text with a number, PostgreSQL refuses.
		odd := map[nebis.Dialect]string{nebis.Postgres: "k26 unreadable (the database does not take this id)\n"}[k.store.Dialect()]
		if odd == "" {
			odd = "k26 missing\n"
		}
		if got.String() != odd+want {
			t.Errorf("found\n%s, wanted\n%s", got, odd+want)
		}
		s := got.sum
		if s.Compared != 24 || s.Agree != 17 || s.Bad() != 7 || s.Refusals != 1 || s.NotKept != 1 || !s.Whole || s.NoJSON != 12-map[bool]int{true: 1}[k.store.Dialect() == nebis.Postgres] {
			t.Errorf("%+v", s)
		}
		if after := k.everything(); after != before {
			t.Errorf("it has written:\n%s\n%s", before, after)
		}
		k.want(2, `--sql selects no column "state"; it has status, qty, note`, "reconcile", "--scope", "order", "--sql", lookUp, "--id", "/data/id", "--expect", "state=x")
	})
}

// everything is both tables in words.
func (k *keyed) everything() string {
	k.t.Helper()
	var b strings.Builder
	for _, query := range []string{"SELECT id, status, qty, note FROM orders ORDER BY id", "SELECT id, idem_key, status, response FROM idempotency ORDER BY id"} {
		rows, err := k.db.Query(query)
		if err != nil {
			k.t.Fatal(err)
		}
		for rows.Next() {
			var c [4]sql.NullString
			if err := rows.Scan(&c[0], &c[1], &c[2], &c[3]); err != nil {
				k.t.Fatal(err)
			}
			fmt.Fprintln(&b, c)
		}
		if err := rows.Err(); err != nil {
			k.t.Fatal(err)
		}
	}
	return b.String()
}

func TestReconcileRefusesWhatIsNotOneSelect(t *testing.T) {
	dburltest.Everywhere(t, func(t *testing.T, url string) {
		k := newOrders(t, url)
		k.order(1, api(1))
		if k.store.Dialect() == nebis.Postgres {
			k.exec("CREATE SEQUENCE numbers")
		}
		before := k.everything()
		for query, says := range map[string]string{
			"UPDATE orders SET status = 'x' WHERE id = ?":  `begins with "UPDATE"`,
			"DELETE FROM orders WHERE id = ? RETURNING id": `begins with "DELETE"`,
			"DROP TABLE orders":                            `begins with "DROP"`,
			"CREATE TABLE more (id INTEGER)":               `begins with "CREATE"`,
			"BEGIN":                                        `begins with "BEGIN"`,
			"WITH gone AS (DELETE FROM orders WHERE id = ? RETURNING id) SELECT id FROM gone": "the word DELETE",
			"SELECT 1 FROM orders WHERE id = ?; DELETE FROM orders":                           "semicolon",
			"SELECT 1 FROM orders WHERE id = ? FOR UPDATE":                                    "the word UPDATE",
			"SELECT 1 FROM orders WHERE id = ? LOCK IN SHARE MODE":                            "the word LOCK",
			"SELECT status INTO more FROM orders WHERE id = ?":                                "the word INTO",
			"SELECT nextval('numbers') FROM orders WHERE id = ?":                              "calls nextval()",
			"SELECT SLEEP(9) FROM orders WHERE id = ?":                                        "calls SLEEP()",
			"SELECT 1 FROM orders WHERE id = ? -- and so on":                                  "comment",
			"SELECT '?' FROM orders":                                                          "0 question marks",
			"SELECT 1 FROM orders WHERE id = ? OR id = ?":                                     "2 question marks",
			"SELECT 1 FROM orders WHERE number = ?":                                           "number",
		} {
			code, stdout, stderr := k.call("reconcile", "--scope", "order", "--id", "/data/id", "--sql", query)
			if code != 2 || stdout != "" || !strings.Contains(stderr, says) {
				t.Errorf("%s: exit %d, %s%s", query, code, stdout, stderr)
			}
		}
		if after := k.everything(); after != before {
			t.Errorf("it has written:\n%s\n%s", before, after)
		}
		k.want(0, "1 agree", "reconcile", "--scope", "order", "--id", "/data/id", "--sql", "\nSELECT mark\nFROM (SELECT id, '?''?' AS mark FROM orders) AS o WHERE id = ?;\n")
	})
}

// What is there when the first page begins is compared once, whatever comes in
// meanwhile.
func TestReconcileGoesThroughManyKeysPageByPage(t *testing.T) {
	dburltest.Everywhere(t, func(t *testing.T, url string) {
		k := newOrders(t, url)
		text := "'k' || id"
		if k.store.Dialect() == nebis.MySQL {
			text = "CONCAT('k', id)"
		}
		for from := 0; from < 3000; from += 500 {
			var rows []string
			for id := from + 1; id <= from+500; id++ {
				rows = append(rows, fmt.Sprintf("(%d, 'accepted', 1)", id))
			}
			k.exec("INSERT INTO orders (id, status, qty) VALUES " + strings.Join(rows, ", "))
		}
		answer := "'{\"data\":{\"id\":' || id || '}}'"
		if k.store.Dialect() == nebis.MySQL {
			answer = "CONCAT('{\"data\":{\"id\":', id, '}}')"
		}
		k.exec("INSERT INTO idempotency (idem_key, scope, owner, status, token, response) SELECT " + text +
			", CASE WHEN id % 3 = 0 THEN 'other' ELSE 'order' END, '*', 'done', 't', " + answer + " FROM orders ORDER BY id")
		k.exec("UPDATE orders SET status = 'cancelled' WHERE id % 10 <> 1")
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for id := 10001; ctx.Err() == nil; id++ {
				k.order(id, api(id))
			}
		}()
		defer func() { stop(); <-ended }()
		seen, pages := map[string]int{}, 0
		var compared, last int64 = 0, 0
		for whole := false; !whole; pages++ {
			r := k.reconcile(1, "--expect", "status=accepted", "--limit", "250", "--after", fmt.Sprint(last))
			for _, f := range r.found {
				seen[f.Key]++
			}
			compared, last, whole = compared+int64(r.sum.Compared), r.sum.Last, r.sum.Whole
		}
		for id := 1; id <= 3000; id++ {
			want := 0
			if id%10 != 1 && id%3 != 0 {
				want = 1
			}
			if n := seen[fmt.Sprintf("k%d", id)]; n != want {
				t.Errorf("k%d was found %d times, not %d", id, n, want)
			}
		}
		if len(seen) != 1800 || pages != 8 || compared < 2000 {
			t.Errorf("%d keys on %d pages, %d compared", len(seen), pages, compared)
		}
	})
}
