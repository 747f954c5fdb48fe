package find

import (
	"slices"
	"strings"
	"unicode"
)

// made are names of the column with the time when a row was made, the best
// first.
var made = []string{
	"created_at", "create_time", "add_time", "addtime", "created", "createtime", "ctime", "gmt_create", "created_time", "order_time",
	"inserted_at", "insert_time", "date_added", "date_add", "date_created", "post_date", "created_on", "create_at", "create_date", "created_date",
	"creation_date", "creation_time", "dateline", "timestamp", "下单时间", "创建时间",
}

// snake writes createdAt and CreatedAt as created_at, orderSN as order_sn.
func snake(name string) string {
	var b strings.Builder
	lower := false
	for _, r := range name {
		if unicode.IsUpper(r) && lower {
			b.WriteByte('_')
		}
		lower = !unicode.IsUpper(r) && r != '_'
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// proposeAt takes the column of such a name, else the only one of a time's type.
func proposeAt(t *table) (column, bool) {
	for _, name := range made {
		for _, c := range t.columns {
			if snake(c.name) == name {
				return c, true
			}
		}
	}
	var timed []column
	for _, c := range t.columns {
		if c.timed() {
			timed = append(timed, c)
		}
	}
	if len(timed) == 1 {
		return timed[0], true
	}
	return column{}, false
}

// Words in names of what a duplicate does not share with its original: what is
// made anew for each row, and what changes during its life.
var (
	anew    = []string{"no", "sn", "uuid", "guid", "token", "trade", "transaction", "serial", "nonce", "number", "code", "hash", "request", "trace", "编号", "单号", "流水"}
	changes = []string{"status", "state", "updated", "modified", "paid", "shipped", "deleted", "version", "attempts", "状态"}
)

// proposeSame takes every column that a duplicate would share; left says which
// ones it did not take.
func proposeSame(t *table, at column) (same []column, left []string) {
	for _, c := range t.columns {
		if c.name == at.name {
			continue
		}
		if shared(t, c) {
			same = append(same, c)
		} else {
			left = append(left, c.name)
		}
	}
	return same, left
}

func shared(t *table, c column) bool {
	name := snake(c.name)
	switch {
	case c.auto || c.generated || t.alone(c) || slices.Contains(names(t.key), c.name):
		return false
	case c.timed() || strings.HasSuffix(name, "_at") || strings.HasSuffix(name, "time"):
		return false
	case strings.Contains(c.typ, "blob") || c.typ == "bytea":
		return false
	case c.typ == "uuid" && !strings.HasSuffix(name, "_id"): // user_id is one that both rows share
		return false
	case name == "id":
		return false
	}
	return !hasAny(name, anew) && !hasAny(name, changes)
}

// hasAny looks for a whole word between underscores; Chinese names have none.
func hasAny(name string, words []string) bool {
	parts := strings.Split(name, "_")
	for _, w := range words {
		if slices.Contains(parts, w) || w[0] >= 0x80 && strings.Contains(name, w) {
			return true
		}
	}
	return strings.HasSuffix(name, "ordersn") || strings.HasSuffix(name, "orderno")
}
