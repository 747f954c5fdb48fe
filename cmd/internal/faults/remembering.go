package main

// A key that is to be remembered for longer than its answer (Op.KeepSeen) does not
// run again, and its answer goes.
func remembering() []fault {
	const (
		late  = "KeepSeen/a late retry is told, and does not run"
		began = "TestAStatementThatBeganBeforeTheRowsLastChange/"
	)
	return []fault{
		{
			name:    "clean-up removes the row of a key that is remembered",
			edits:   []edit{{"clean_sql.go", "THEN 1 ELSE 0 END", "THEN 0 ELSE 0 END"}},
			foundBy: []probe{worlds("mariadb", 40), suite("mariadb", late), suite("mysql56", late), suite("postgres-pgx", late), suite("sqlite-modernc", late)},
		},
		{
			name:    "clean-up keeps the answer of a key that is remembered",
			edits:   []edit{{"clean_sql.go", "`response = NULL, expires_at", "`expires_at"}, {"mysql.go", "k.response = NULL, ", ""}},
			foundBy: []probe{suite("mariadb", late), suite("postgres-pgx", late), suite("sqlite-modernc", late)},
		},
		{
			name:    "a claim takes over a key that is remembered",
			edits:   []edit{{"row.go", "r.lease == 1 { // remembered", "r.lease == 3 { // remembered"}},
			foundBy: []probe{suite("mariadb", late), suite("postgres-pgx", late), suite("sqlite-modernc", late), worlds("postgres", 40)},
		},
		{
			name:    "DoTx takes over a key that is remembered",
			edits:   []edit{{"mysql.go", " AND (status <> 'done' OR COALESCE(lease_until, expires_at) <= UTC_TIMESTAMP(6))", ""}},
			foundBy: []probe{suite("mariadb", late), suite("mysql56", late)},
		},
		{
			name:    "an expired answer of a key that is remembered is replayed",
			edits:   []edit{{"row.go", "r.free, r.response = false, sql.NullString{}", "r.free = false"}},
			foundBy: []probe{suite("mariadb", late), suite("postgres-pgx", late), suite("sqlite-modernc", late)},
		},
		{
			name:    "the save does not say that the key is remembered",
			edits:   []edit{{"session.go", "e.seen+\", updated_at\"", "\", updated_at\""}, {"session.go", "x.e.answer(response), op.seen())", "x.e.answer(response))"}},
			foundBy: []probe{suite("mariadb", late), suite("sqlite-modernc", late)},
		},
		{
			name:    "a lease does not say that its key is remembered",
			edits:   []edit{{"tenure.go", "until = c.op.seen()", "_ = c.op.seen()"}},
			foundBy: []probe{suite("postgres-pgx", "KeepSeen/a Lease and a DoTx are remembered as well"), test("suite", began+"mariadb/a lease ends")},
		},
		{
			name: "a replay that is made durable takes the mark away",
			edits: []edit{{"mysql.go", "COALESCE(lease_until, TIMESTAMP'2001-01-01 00:00:00') + INTERVAL 1 MICROSECOND",
				"IF(lease_until IS NULL, UTC_TIMESTAMP(6), NULL)"}},
			foundBy: []probe{suite("mariadb", late), suite("mysql56", late), test("suite", began+"mariadb/a replay makes it durable")},
		},
		{
			name:    "a key that is no longer remembered never runs again",
			edits:   []edit{{"row.go", "r.lease == 1 { // remembered", "r.lease > 0 { // remembered"}},
			foundBy: []probe{suite("mariadb", "KeepSeen/when it is over, one of many runs"), suite("postgres-pgx", "KeepSeen/when it is over, one of many runs")},
		},
	}
}
