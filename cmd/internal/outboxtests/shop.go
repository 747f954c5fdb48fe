package outboxtests

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/outbox"
)

var tables = []string{
	`CREATE TABLE orders (name VARCHAR(64) NOT NULL PRIMARY KEY)`,
	`CREATE TABLE cancelled (name VARCHAR(64) NOT NULL)`, // no unique index: it would hide what is done twice
}

func insert(d nebis.Dialect, table string) string {
	value := "?"
	if d == nebis.Postgres {
		value = "$1"
	}
	return `INSERT INTO ` + table + ` (name) VALUES (` + value + `)`
}

// place places an order and adds the call that charges it. at may stop it.
func place(ctx context.Context, db *sql.DB, d nebis.Dialect, box *outbox.Outbox, o order, at func(order, step)) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, insert(d, "orders"), o.Name); err != nil {
		return err
	}
	if _, err := box.Add(ctx, tx, "charge", o); err != nil {
		return err
	}
	at(o, beforeCommit)
	if err := tx.Commit(); err != nil {
		return err
	}
	at(o, afterCommit)
	return nil
}

// charging is the call that charges an order on the other side, and its
// compensation, which cancels the order.
func charging(provider string, d nebis.Dialect, at func(order, step)) outbox.Call {
	return outbox.Call{
		// Each process that is killed uses up a try of what was left before it.
		Attempts: 100000, Backoff: 20 * time.Millisecond, MaxBackoff: 200 * time.Millisecond,
		Do: func(ctx context.Context, j *outbox.Job) (any, error) {
			var o order
			if err := j.Decode(&o); err != nil {
				return nil, outbox.Permanent(err)
			}
			at(o, beforeCall)
			result, err := charge(ctx, provider, j.Key, j.Payload)
			at(o, beforeSave)
			return result, err
		},
		Compensate: func(ctx context.Context, tx *sql.Tx, j *outbox.Job) error {
			var o order
			if err := j.Decode(&o); err != nil {
				return err
			}
			_, err := tx.ExecContext(ctx, insert(d, "cancelled"), o.Name)
			at(o, inCompensate)
			return err
		},
	}
}

var errRefused = errors.New("the other side has refused")

// charge asks the other side once.
func charge(ctx context.Context, provider, key string, body []byte) (result json.RawMessage, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, provider, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	// Not the usual name: with it Go's client would by itself send the request
	// again.
	req.GetBody = nil
	req.Header.Set("X-Charge-Key", key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if result, err = io.ReadAll(res.Body); err != nil {
		return nil, err
	}
	switch {
	case res.StatusCode == http.StatusPaymentRequired:
		return nil, outbox.Permanent(errRefused)
	case res.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("the other side says %s", res.Status)
	}
	return result, nil
}
