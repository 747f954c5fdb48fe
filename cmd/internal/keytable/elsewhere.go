package keytable

import (
	"context"
	"strconv"
)

// A Holder is whose a key is.
type Holder struct{ Scope, Owner string }

// Holders tells whose a key is, at most so many: the key is the first column of the
// unique index.
func (t *Table) Holders(ctx context.Context, key string, most int) ([]Holder, error) {
	rows, err := t.q.QueryContext(ctx, t.bind(`SELECT scope, `+t.column("owner", "''")+` FROM `+t.quoted()+
		` WHERE idem_key = ? ORDER BY 1, 2 LIMIT `+strconv.Itoa(most)), key)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []Holder
	for rows.Next() {
		var h Holder
		if err := rows.Scan(&h.Scope, &h.Owner); err != nil {
			return nil, err
		}
		all = append(all, h)
	}
	return all, rows.Err()
}
