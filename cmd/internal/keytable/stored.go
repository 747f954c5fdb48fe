package keytable

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/nebis-dev/nebis"
)

// A Stored is an answer as nebishttp keeps it.
type Stored struct {
	Status   int                 `json:"status"`
	Header   map[string][]string `json:"header,omitempty"`
	Header64 map[string][][]byte `json:"header64,omitempty"` // those that are not UTF-8
	Body     string              `json:"body,omitempty"`
	Body64   []byte              `json:"body64,omitempty"`
	NotKept  int                 `json:"not_kept,omitempty"` // bytes of a body that was too large
}

// ReadStored reads an answer of nebishttp's. Nil: it is none, but the result of a
// program that calls the Store itself, or of old code.
func ReadStored(response []byte) *Stored {
	dec := json.NewDecoder(bytes.NewReader(response))
	dec.DisallowUnknownFields()
	s := new(Stored)
	if dec.Decode(s) != nil || s.Status < 200 || s.Status > 999 {
		return nil
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil
	}
	return s
}

// Answers hands each the stored answers of those of the rows that are still done, one
// at a time, as each may be a megabyte. Nil: none is kept.
func (t *Table) Answers(ctx context.Context, ids []int64, each func(id int64, response []byte)) error {
	var in []string
	for _, id := range ids {
		in = append(in, strconv.FormatInt(id, 10))
	}
	text := t.column("response", "NULL")
	if t.has["response"] && t.d == nebis.MySQL {
		text = "CAST(response AS BINARY)"
	}
	rows, err := t.q.QueryContext(ctx, fmt.Sprintf(`SELECT id, %s FROM %s WHERE id IN (%s) AND %s = 'done'`,
		text, t.quoted(), strings.Join(in, ", "), t.state()))
	if err != nil {
		return fmt.Errorf("read %s: %w", t.name, err)
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		var response sql.RawBytes
		if err := rows.Scan(&id, &response); err != nil {
			return fmt.Errorf("read %s: %w", t.name, err)
		}
		each(id, response)
	}
	return rows.Err()
}
