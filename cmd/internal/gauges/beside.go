package gauges

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/nebis-dev/nebis/cmd/internal/keytable"
	"github.com/nebis-dev/nebis/outbox"
)

// States are those of calls that are not over. How many are done nobody has to know
// every few seconds, and there may be millions.
func States() []outbox.State {
	return []outbox.State{outbox.Pending, outbox.Running, outbox.Failed, outbox.Compensating, outbox.Dead}
}

// calls counts the outbox's by the index on state, where there is one.
func (r *Reader) calls(ctx context.Context, n *Reading) error {
	d := r.store.Dialect()
	n.Calls = map[outbox.State]int64{}
	for _, s := range States() {
		n.Calls[s] = 0
	}
	there, err := keytable.There(ctx, r.db, d, r.o.Outbox)
	if err != nil || !there {
		return err
	}
	table := keytable.Quoted(d, r.o.Outbox)
	counts := make([]string, len(States()))
	for i, s := range States() {
		counts[i] = fmt.Sprintf(`SELECT '%s', COUNT(*) FROM (SELECT id FROM %s WHERE state = '%[1]s' LIMIT %[3]d) AS x`, s, table, MostRows)
	}
	rows, err := r.db.QueryContext(ctx, strings.Join(counts, " UNION ALL "))
	if err != nil {
		return fmt.Errorf("read %s: %w", r.o.Outbox, err)
	}
	defer rows.Close()
	for rows.Next() {
		var s outbox.State
		var times int64
		if err := rows.Scan(&s, &times); err != nil {
			return fmt.Errorf("read %s: %w", r.o.Outbox, err)
		}
		n.Calls[s] = times
	}
	if err := rows.Err(); err != nil {
		return err
	}
	now := keytable.Now(d)
	var due sql.NullInt64
	err = r.db.QueryRowContext(ctx, fmt.Sprintf(`SELECT %s - %s FROM %s WHERE due_at <= %s`,
		keytable.Micros(d, now), keytable.Micros(d, "MIN(due_at)"), table, now)).Scan(&due)
	if err != nil {
		return fmt.Errorf("read %s: %w", r.o.Outbox, err)
	}
	n.CallsLag = max(time.Duration(due.Int64)*time.Microsecond, 0)
	return nil
}

// failures counts the deliveries of package callback that are not done yet.
func (r *Reader) failures(ctx context.Context, n *Reading) error {
	d, name := r.store.Dialect(), r.store.Table()+"_failures"
	there, err := keytable.There(ctx, r.db, d, name)
	if err != nil || !there {
		return err
	}
	err = r.db.QueryRowContext(ctx, fmt.Sprintf(`SELECT COUNT(*) FROM (SELECT id FROM %s WHERE done_at IS NULL LIMIT %d) AS x`,
		keytable.Quoted(d, name), MostRows)).Scan(&n.Failures)
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	return nil
}
