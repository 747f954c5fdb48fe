package main

// The outbox: a call is made if its transaction committed, with one key, until its
// end, which is saved once.
func ending() []fault {
	return []fault{
		{
			name:    "outbox: Add outside the transaction",
			edits:   []edit{{"outbox/add.go", "tx.ExecContext(ctx, o.q.add", "o.db.ExecContext(ctx, o.q.add"}},
			foundBy: []probe{call("mariadb", "rolled back: never made")},
		},
		{
			name:    "outbox: a hint is forgotten when the first look finds no commit",
			edits:   []edit{{"outbox/hints.go", "h.rows[id] = hint{now.Add(x.pause), x.pause + x.pause/2}", "delete(h.rows, id)"}},
			foundBy: []probe{call("sqlite-modernc", "committed long after it was added")},
		},
		{
			name:    "outbox: each try has a key of its own",
			edits:   []edit{{"outbox/serve.go", "\t\tj := *t.j\n", "\t\tj := *t.j\n\t\tj.Key = newKey(36)\n"}},
			foundBy: []probe{call("sqlite-modernc", "an error is tried again with the same key"), impatient("TestAnAnswerThatIsCut/sqlite-modernc")},
		},
		{
			name:    "outbox: a person's retry changes the key",
			edits:   []edit{{"outbox/statements.go", "s.retry = set + `", "s.retry = set + `call_key = 'another', "}},
			foundBy: []probe{test("outboxtests", "TestAPerson/sqlite-modernc/has a dead call made again, with the same key")},
		},
		{
			name:    "outbox: tries are not counted",
			edits:   []edit{{"outbox/statements.go", "attempts = attempts + CASE WHEN state = 'compensating' THEN 0 ELSE 1 END", "attempts = attempts"}},
			foundBy: []probe{call("sqlite-modernc", "the end of its tries, without a compensation: dead")},
		},
		{
			name:    "outbox: tries have no end",
			edits:   []edit{{"outbox/call.go", "tries >= c.Attempts || ", ""}},
			foundBy: []probe{call("sqlite-modernc", "the end of its tries, without a compensation: dead")},
		},
		{
			name:    "outbox: pauses grow without end",
			edits:   []edit{{"outbox/call.go", "if most >= c.MaxBackoff/2 {", "if most >= 1<<60 {"}},
			foundBy: []probe{{pkg: "outbox", run: "^TestThePauseDoublesUpToItsBound$"}},
		},
	}
}

// The outbox: what is saved, and what a person may do.
func saving() []fault {
	return []fault{
		{
			name:    "outbox: an end is saved without the token",
			edits:   []edit{{"outbox/statements.go", "result = ` + d.text + held", "result = ` + d.text + ` WHERE id = ? AND COALESCE(?, '') <> '-'`"}},
			foundBy: []probe{call("sqlite-modernc", "a lease that went to somebody else"), call("postgres-pgx", "a function that does not heed its context")},
		},
		{
			name:    "outbox: an end that was not saved is reported as saved",
			edits:   []edit{{"outbox/tenure.go", "return t.j.State, nebis.ErrLost", "return e.state, nil"}},
			foundBy: []probe{call("sqlite-modernc", "a lease that went to somebody else")},
		},
		{
			name:    "outbox: a save that failed is not sent again",
			edits:   []edit{{"outbox/tenure.go", "if err == nil || errors.Is(err, nebis.ErrLost) {", "if true || errors.Is(err, nebis.ErrLost) {"}},
			foundBy: []probe{call("mariadb", "a result that the database refuses")},
		},
		{
			name:    "outbox: a result that the database refuses has the call made again",
			edits:   []edit{{"outbox/tenure.go", "case try == plainFrom &&", "case try == plainFrom && false &&"}},
			foundBy: []probe{call("postgres-pgx", "a result that the database refuses")},
		},
		{
			name:    "outbox: a function that ended its goroutine has made the call",
			edits:   []edit{{"outbox/tenure.go", "err = errExited", "_ = errExited"}},
			foundBy: []probe{call("sqlite-modernc", "a panic and an exit are tried again")},
		},
		{
			name:    "outbox: a call that is dead is purged",
			edits:   []edit{{"outbox/statements.go", "`state IN ('done', 'compensated')", "`state IN ('done', 'compensated', 'dead')"}},
			foundBy: []probe{call("sqlite-modernc", "old calls are purged")},
		},
		{
			name:    "outbox: a person decides about a call that a worker has",
			edits:   []edit{{"outbox/person.go", "case before.underWay():", "case before.underWay() && false:"}},
			foundBy: []probe{test("outboxtests", "TestAPerson/sqlite-modernc/does nothing to a call that is under way or done")},
		},
		{
			name:    "outbox: a person decides about what has changed meanwhile",
			edits:   []edit{{"outbox/statements.go", "d.text + unchanged + ` AND (", "d.text + ` WHERE id = ? AND ? <> '-' AND ? >= 0 AND ? >= 0 AND (`+`"}},
			foundBy: []probe{test("outboxtests", "TestAPerson/mariadb/is one of many who decide at once: one does")},
		},
	}
}
