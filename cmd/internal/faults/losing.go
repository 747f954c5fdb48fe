package main

// A function that ends or loses its transaction is noticed, and connections go
// back as they were.
func losing() []fault {
	return []fault{
		{
			name:    "DDL inside the function reported as success (MySQL)",
			edits:   []edit{{"mysql.go", "if strict {", "if strict && false {"}},
			foundBy: []probe{suite("mysql56", "Do/notices DDL that commits"), worlds("mysql56", 80)},
		},
		{
			name:    "DDL inside the function reported as success (MariaDB)",
			edits:   []edit{{"mysql.go", "RELEASE SAVEPOINT nebis;\n` + strings", "` + strings"}},
			foundBy: []probe{suite("mariadb", "Do/notices DDL that commits"), worlds("mariadb", 80)},
		},
		{
			name:    "COMMIT by hand reported as success (PostgreSQL)",
			edits:   []edit{{"postgres.go", "AND xmin = pg_current_xact_id()::xid", ""}},
			foundBy: []probe{suite("postgres-pgx", "Do/notices a COMMIT by hand"), worlds("postgres", 120)},
		},
		{
			name:    "COMMIT by hand reported as success (SQLite)",
			edits:   []edit{{"sqlite.go", "\t\tafter:  `SAVEPOINT nebis`,\n\t\tbefore: `RELEASE SAVEPOINT nebis`,\n", ""}},
			foundBy: []probe{suite("sqlite-modernc", "Do/notices a COMMIT by hand"), worlds("sqlite-modernc", 80)},
		},
		{
			name: "swallowed deadlock reported as success (MariaDB)",
			edits: []edit{
				{"mysql.go", "RELEASE SAVEPOINT nebis;\n` + strings", "` + strings"},
				{"mysql.go", "mustMatch(true) + `COMMIT;", "`COMMIT;"},
			},
			foundBy: []probe{suite("mariadb", "Do/notices a swallowed deadlock, and nothing of it stays")},
		},
		{
			name:    "autocommit stays on after the claim: writes after a swallowed deadlock stay (MariaDB)",
			edits:   []edit{{"mysql.go", "SAVEPOINT nebis;\nSET autocommit = 0;", "SAVEPOINT nebis;"}},
			foundBy: []probe{suite("mariadb", "Do/notices a swallowed deadlock, and nothing of it stays")},
		},
		{
			name:    "autocommit is not put on again after the commit (MariaDB)",
			edits:   []edit{{"mysql.go", "`COMMIT;\nSET autocommit = 1;\nEND`", "`COMMIT;\nEND`"}},
			foundBy: []probe{suite("mariadb", "Do/gives its connections back as they were"), worlds("mariadb", 20)},
		},
		{
			name:    "autocommit is not put on again after a rollback (MariaDB)",
			edits:   []edit{{"mysql.go", "`BEGIN NOT ATOMIC ROLLBACK; SET autocommit = 1; END`", "`ROLLBACK`"}},
			foundBy: []probe{suite("mariadb", "Do/gives its connections back as they were"), worlds("mariadb", 20)},
		},
		{
			name:    "the session's lock time-out is not restored after a claim (MySQL)",
			edits:   []edit{{"session.go", "limitWait(ctx, x.tx, x.e.sessionWait) != nil || x.broken", "x.broken || ctx.Err() != nil"}},
			foundBy: []probe{worlds("mysql56", 20)},
		},
		{
			name:    "the connection is kept when the function panics",
			edits:   []edit{{"do.go", "defer x.close()\n\tc.ev.Waited", "defer func() {\n\t\tif v := recover(); v != nil {\n\t\t\tpanic(v)\n\t\t}\n\t\tx.close()\n\t}()\n\tc.ev.Waited"}},
			foundBy: []probe{test("worlds", "TestNoConnectionIsKeptHoweverTheFunctionEnds/mariadb")},
		},
	}
}
