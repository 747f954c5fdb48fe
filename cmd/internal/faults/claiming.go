package main

// The key is claimed in the transaction, by the insert, under a token.
func claiming() []fault {
	return []fault{
		{
			name: "claim outside the transaction: committed before the function runs",
			edits: []edit{
				{"claim.go", "if won {\n\t\treturn x, nil, nil", "if won {\n\t\tx.tx.Commit()\n\t\tx.tx, err = x.conn.BeginTx(ctx, nil)\n\t\treturn x, nil, err"},
				{"postgres.go", "AND xmin = pg_current_xact_id()::xid", ""}, // it would notice
			},
			foundBy: []probe{suite("postgres-pgx", "Do/forgets an error"), worlds("postgres", 20)},
		},
		{
			name:    "no token: the same one for every claim",
			edits:   []edit{{"claim.go", "c.token = rand.Text()", `c.token = "token"`}, {"claim.go", "\t\"crypto/rand\"\n", ""}},
			foundBy: []probe{suite("mariadb", "DoTx/many at once, one execution"), worlds("mysql56", 40)},
		},
		{
			name: "look-up decides: an insert that failed is ignored when a look-up finds nothing",
			edits: []edit{
				{"session.go", "x.armed = won &&", "if !won && seen == nil {\n\t\tr, _ := readRow(ctx, x.tx, x.e.read, Op{Key: args[0].(string), Scope: args[1].(string), Owner: args[2].(string)})\n\t\twon, err = r == nil, nil\n\t}\n\tx.armed = won &&"},
				{"session.go", "if err == nil && n != 1 {", "if err == nil && n > 1 {"},
			},
			foundBy: []probe{worlds("mysql56", 40)},
		},
		{
			name:    "a loser reads before it has rolled back",
			edits:   []edit{{"claim.go", "x.rollback() // a loser still holds locks", ""}},
			foundBy: []probe{suite("postgres-pgx", "Do/says in progress when the wait is used up")},
		},
		{
			name:    "a claim that met a deadlock is not sent again",
			edits:   []edit{{"claim.go", "n < c.s.o.MaxClaims; n++", "n < 1; n++"}},
			foundBy: []probe{test("worlds", "TestWhenTheFirstRollsBackNoErrorReachesTheOthers/mariadb")},
		},
		{
			name:    "the upsert of DoTx does not ask whose token it left",
			edits:   []edit{{"dotx.go", "return r.token == g.token, r, nil", "return true, r, nil"}},
			foundBy: []probe{suite("mariadb", "DoTx/runs once and replays, the transaction goes on")},
		},
		{
			name:    "the session's lock time-out is not restored after a claim (PostgreSQL)",
			edits:   []edit{{"postgres.go", " RETURNING set_config('lock_timeout', current_setting('nebis.lock_timeout'), true)", " RETURNING id"}},
			foundBy: []probe{test("suite", "TestTheFunctionHasTheSessionsOwnLimitToLockWaits/postgres-pgx")},
		},
	}
}
