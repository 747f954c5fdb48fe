package main

// The outbox: what a compensation writes is there once, or not at all.
func compensating() []fault {
	const lost = "a compensation whose call somebody else has: nothing of it stays"
	return []fault{
		{
			name: "outbox: a compensation commits before the state of its call",
			edits: []edit{
				{"outbox/compensate.go", "saved, err := t.o.changed(ctx, tx, ", "if err := tx.Commit(); err != nil {\n\t\treturn err\n\t}\n\tsaved, err := t.o.changed(ctx, t.o.db, "},
				{"outbox/compensate.go", "return tx.Commit()", "return nil"},
			},
			foundBy: []probe{call("sqlite-modernc", lost), call("postgres-pgx", lost)},
		},
		{
			name:    "outbox: a compensation does not look whether its state was saved",
			edits:   []edit{{"outbox/compensate.go", "if err == nil && !saved {", "if err == nil && !saved && false {"}},
			foundBy: []probe{call("sqlite-modernc", lost)},
		},
		{
			name:    "outbox: a compensation that ended its transaction counts",
			edits:   []edit{{"outbox/compensate.go", "return fmt.Errorf(\"%w: %w\", nebis.ErrTxGone, err)", "_ = nebis.ErrTxGone"}},
			foundBy: []probe{call("sqlite-modernc", "a compensation that ends its transaction by hand"), call("postgres-pgx", "a compensation that ends its transaction by hand")},
		},
		{
			name:    "outbox: what a compensation writes after its COMMIT stays (MySQL)",
			edits:   []edit{{"outbox/compensate.go", "if o.d != nebis.MySQL {", "if o.d != nebis.MySQL || true {"}},
			foundBy: []probe{call("mysql56", "a compensation that ends its transaction by hand")},
		},
		{
			name:    "outbox: what a compensation wrote before its error is committed",
			edits:   []edit{{"outbox/compensate.go", "if err := t.c.Compensate(ctx, tx, &j); err != nil {", "if err := t.c.Compensate(ctx, tx, &j); err != nil {\n\t\ttx.Commit()"}},
			foundBy: []probe{call("sqlite-modernc", "a compensation that never succeeds: dead")},
		},
		{
			name:    "outbox: a call is compensated although its worker vanished during the last try",
			edits:   []edit{{"outbox/serve.go", "t.c.Compensate != nil && !interrupted", "t.c.Compensate != nil && (!interrupted || true)"}},
			foundBy: []probe{call("sqlite-modernc", "a worker that vanished during the last try: dead, not compensated")},
		},
		{
			name:    "outbox: a call is made once more after its worker vanished during the last try",
			edits:   []edit{{"outbox/serve.go", "if t.j.Attempts > t.c.Attempts {", "if t.j.Attempts > t.c.Attempts+1 {"}},
			foundBy: []probe{call("sqlite-modernc", "a worker that vanished during the last try: dead, not compensated")},
		},
		{
			name:    "outbox: a compensation that kills its process is tried without end",
			edits:   []edit{{"outbox/compensate.go", "case t.j.Compensations > t.c.Attempts:", "case t.j.Compensations > t.c.Attempts+1000:"}},
			foundBy: []probe{call("sqlite-modernc", "a worker that vanished during the last compensation: dead")},
		},
	}
}
