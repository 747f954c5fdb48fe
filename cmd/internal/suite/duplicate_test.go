package suite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

// ordersDDL has a unique index of the business, others whose names and values look
// like it, and everything else that can refuse a row.
var ordersDDL = []string{
	"CREATE TABLE items (code VARCHAR(20) NOT NULL PRIMARY KEY)",
	"INSERT INTO items VALUES ('tea')",
	`CREATE TABLE orders (id INTEGER NOT NULL PRIMARY KEY, owner VARCHAR(40) NOT NULL, idem_key VARCHAR(80) NOT NULL,
		item VARCHAR(20) NOT NULL, qty INTEGER NOT NULL, number VARCHAR(180),
		CONSTRAINT orders_key CHECK (qty > 0), CONSTRAINT orders_item FOREIGN KEY (item) REFERENCES items (code))`,
	"CREATE UNIQUE INDEX orders_key ON orders (owner, idem_key)",
	"CREATE UNIQUE INDEX my_orders_key ON orders (number)",
	"CREATE UNIQUE INDEX orders_key_2 ON orders (owner, qty)",
}

// An attempt is one INSERT into that table.
type attempt struct {
	id, owner, key, item string
	qty                  int
	number               string // or NULL
}

var firstOrder = attempt{"1", "'o'", "'k'", "'tea'", 1, "'n'"}

func (a attempt) into(t *testing.T, db *sql.DB) error {
	_, err := db.ExecContext(t.Context(), fmt.Sprintf("INSERT INTO orders (id, owner, idem_key, item, qty, number) VALUES (%s, %s, %s, %s, %d, %s)",
		a.id, a.owner, a.key, a.item, a.qty, a.number))
	return err
}

func orders(t *testing.T, c dbtest.Config) *sql.DB {
	db := c.Open(t)
	if c.Kind == dbtest.SQLite {
		db.SetMaxOpenConns(1)
		_, err := db.Exec("PRAGMA foreign_keys = ON")
		must(t, err)
	}
	for _, q := range ordersDDL {
		if c.Kind == dbtest.MariaDB {
			q = strings.ReplaceAll(q, "CONSTRAINT orders_key CHECK", "CONSTRAINT checks_orders_key CHECK") // has one name for both
		}
		_, err := db.Exec(q)
		must(t, err)
	}
	must(t, firstOrder.into(t, db))
	return db
}

// mine asks for the index that the business means.
func mine(err error) bool {
	return nebis.Duplicate(err, "orders_key", "orders.owner", "orders.idem_key")
}

func TestDuplicateKnowsItsIndexFromEverythingElseThatRefusesARow(t *testing.T) {
	for _, c := range dbtest.Configs() {
		t.Run(c.Name, func(t *testing.T) {
			db := orders(t, c)
			for name, x := range map[string]struct {
				attempt
				want bool
			}{
				"the index":                {attempt{"2", "'o'", "'k'", "'tea'", 2, "NULL"}, true},
				"another index":            {attempt{"2", "'p'", "'j'", "'tea'", 1, "'n'"}, false},
				"one of its columns alone": {attempt{"2", "'o'", "'j'", "'tea'", 1, "NULL"}, false},
				"the primary key":          {attempt{"1", "'p'", "'j'", "'tea'", 1, "NULL"}, false},
				"a foreign key":            {attempt{"2", "'p'", "'j'", "'gin'", 1, "NULL"}, false},
				"NOT NULL":                 {attempt{"2", "'p'", "NULL", "'tea'", 1, "NULL"}, false},
				"a check of its name":      {attempt{"2", "'p'", "'j'", "'tea'", 0, "NULL"}, false},
				"a mistake":                {attempt{"2", "orders_key", "'j'", "'tea'", 1, "NULL"}, false},
			} {
				err := x.into(t, db)
				if err == nil && (c.Kind != dbtest.MySQL || !strings.Contains(name, "check")) { // 5.6 has no checks
					t.Errorf("%s: taken", name)
				}
				if wrapped := errors.Join(errMine, fmt.Errorf("insert: %w", err)); mine(err) != x.want || mine(wrapped) != x.want {
					t.Errorf("%s: %t, wrapped %t: %v", name, mine(err), mine(wrapped), err)
				}
				db.Exec("DELETE FROM orders WHERE id = 2")
			}
		})
	}
}

// forgeries are values that look like the end of a message.
func forgeries() []string {
	list := []string{"orders_key", "orders.orders_key", "orders.owner, orders.idem_key",
		"x (2067)", "UNIQUE constraint failed: orders.owner, orders.idem_key", `\' for key \'orders_key`}
	for n := range 70 { // servers cut at 64
		list = append(list, strings.Repeat("茶", n/2)+strings.Repeat("a", n-n/2)+"' for key 'orders_key'", strings.Repeat("'", n)+"orders_key'")
	}
	return list
}

func TestNoValueIsTakenForTheIndex(t *testing.T) {
	each(t, func(t *testing.T, c dbtest.Config) {
		db := orders(t, c)
		stmt := "INSERT INTO orders (id, owner, idem_key, item, qty, number) VALUES (?, ?, ?, 'tea', 1, ?)"
		if c.Dialect == nebis.Postgres {
			stmt = "INSERT INTO orders (id, owner, idem_key, item, qty, number) VALUES ($1, $2, $3, 'tea', 1, $4)"
		}
		for i, v := range forgeries() {
			id := 10 + 2*i
			_, err := db.Exec(stmt, id, fmt.Sprint(id), fmt.Sprint(id), v)
			must(t, err)
			_, err = db.Exec(stmt, id+1, fmt.Sprint(id+1), fmt.Sprint(id+1), v)
			if mine(err) || !nebis.Duplicate(err, "my_orders_key", "orders.number") {
				t.Errorf("%q: %v", v, err)
			}
		}
	})
}

func TestDuplicateOfAPrimaryKeyAndOfAnExpression(t *testing.T) {
	each(t, func(t *testing.T, c dbtest.Config) {
		db := orders(t, c)
		primary := map[nebis.Dialect]string{nebis.MySQL: "PRIMARY", nebis.Postgres: "orders_pkey", nebis.SQLite: "-"}[c.Dialect]
		if err := (attempt{"1", "'p'", "'j'", "'tea'", 1, "NULL"}).into(t, db); !nebis.Duplicate(err, primary, "orders.id") {
			t.Error(err)
		}
		if c.Dialect == nebis.MySQL {
			return
		}
		_, err := db.Exec("CREATE UNIQUE INDEX lower_number ON orders (lower(number))")
		must(t, err)
		if err := (attempt{"2", "'p'", "'j'", "'tea'", 1, "'N'"}).into(t, db); !nebis.Duplicate(err, "lower_number") || mine(err) {
			t.Error(err)
		}
	})
}

// A trigger may say what it likes.
func TestATriggersTextIsNoDuplicate(t *testing.T) {
	for _, name := range []string{"sqlite-modernc", "sqlite-mattn"} {
		db := orders(t, dbtest.Lookup(name))
		_, err := db.Exec(`CREATE TRIGGER says BEFORE INSERT ON orders BEGIN
			SELECT RAISE(ABORT, 'UNIQUE constraint failed: orders.owner, orders.idem_key'); END`)
		must(t, err)
		if err := (attempt{"2", "'p'", "'j'", "'tea'", 1, "NULL"}).into(t, db); err == nil || mine(err) {
			t.Error(name, err)
		}
	}
}

func TestDuplicateUnderstandsAServerOfAnotherLanguage(t *testing.T) {
	c := dbtest.Lookup("mariadb")
	db := orders(t, c)
	conn, err := db.Conn(t.Context())
	must(t, err)
	defer conn.Close()
	for _, language := range []string{"zh_CN", "de_DE", "fr_FR", "ru_RU"} {
		_, err := conn.ExecContext(t.Context(), "SET lc_messages = '"+language+"'")
		must(t, err)
		_, err = conn.ExecContext(t.Context(), "INSERT INTO orders (id, owner, idem_key, item, qty) VALUES (2, 'o', 'k', 'tea', 2)")
		if !mine(err) || strings.Contains(fmt.Sprint(err), "Duplicate") {
			t.Errorf("%s: %v", language, err)
		}
	}
}

// Servers of ours are older than 8.0.19, which names the table.
func TestDuplicateKnowsTheTableWhereMySQLNamesIt(t *testing.T) {
	for key, want := range map[string][2]bool{ // with columns, without
		"orders_key":           {true, true},
		"orders.orders_key":    {true, true},
		"refunds.orders_key":   {false, true},
		"orders.my_orders_key": {false, false},
		"orders.key":           {false, false},
		"PRIMARY":              {false, false},
		"":                     {false, false},
	} {
		err := &mysql.MySQLError{Number: 1062, Message: "Duplicate entry 'o-k' for key '" + key + "'"}
		if got := [2]bool{mine(err), nebis.Duplicate(err, "orders_key")}; got != want {
			t.Errorf("%s: %v, want %v", key, got, want)
		}
		if nebis.Duplicate(err, "", "orders.owner") {
			t.Errorf("%s: no index at all", key)
		}
	}
	if mine(&mysql.MySQLError{Number: 1452, Message: "for key 'orders_key'"}) || mine(nil) || mine(context.Canceled) || mine((*mysql.MySQLError)(nil)) {
		t.Error("something else is a duplicate")
	}
}
