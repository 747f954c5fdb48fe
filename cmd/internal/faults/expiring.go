package main

// An expired key is taken over by one, on conditions.
func expiring() []fault {
	const fresh = "expires_at = clock_timestamp() + $4::bigint * interval '1 microsecond'\nFROM"
	return []fault{
		{
			name: "takeover without its condition",
			edits: []edit{{"postgres.go",
				"takeover: renew + `idem_key = $6 AND scope = $7 AND COALESCE(token, '') = $8 AND ` + postgresFree",
				"takeover: renew + `$6::text || $7::text || $8::text <> '-'`"}},
			foundBy: []probe{suite("postgres-pgx", "Do/an expired key is a new operation, exactly one of 50 senders"),
				suite("postgres-pgx", "Lease/an expired key is a new operation, exactly one of 20 senders"), worlds("postgres", 120)},
		},
		{
			name: "takeover of whatever row has the id now (SQLite gives ids again)",
			edits: []edit{{"sqlite.go",
				"takeover: renew + `idem_key = ? AND scope = ? AND COALESCE(token, '') = ? AND ` + sqliteFree",
				"takeover: renew + `? || ? || ? <> '-' AND ` + sqliteFree"}},
			foundBy: []probe{test("worlds", "TestATakeoverLeavesTheRowOfAnotherKeyAlone/sqlite-modernc")},
		},
		{
			name:    "takeover that keeps expires_at",
			edits:   []edit{{"postgres.go", fresh, "expires_at = COALESCE(expires_at, clock_timestamp() + $4::bigint * interval '1 microsecond')\nFROM"}},
			foundBy: []probe{suite("postgres-pgx", "Do/an expired key is a new operation, exactly one of 50 senders"), worlds("postgres", 120)},
		},
		{
			name:    "takeover that keeps the fingerprint",
			edits:   []edit{{"mysql.go", "SET owner = ?, fingerprint = ?, token", "SET owner = ?, fingerprint = COALESCE(fingerprint, ?), token"}},
			foundBy: []probe{suite("mariadb", "Do/an expired key whose new run fails is tried by the next"), worlds("mariadb", 80)},
		},
		{
			name:    "rows in processing expire",
			edits:   []edit{{"mysql.go", "UTC_TIMESTAMP(6) AND (status = 'done' OR token IS NULL))`", "UTC_TIMESTAMP(6))`"}},
			foundBy: []probe{suite("mariadb", "Do/rows in processing do not expire")},
		},
	}
}

// Clean-up removes what has expired and goes round the rest.
func cleaning() []fault {
	return []fault{
		{
			name:    "purge without its condition on the status",
			edits:   []edit{{"clean_sql.go", " AND (status <> 'processing' OR token IS NULL)", ""}},
			foundBy: []probe{suite("sqlite-modernc", "Do/rows in processing do not expire")},
		},
		{
			name:    "two sweep at a time",
			edits:   []edit{{"sqlite.go", "WHERE COALESCE(lease_until, '') <= ` + sqliteNow,", "WHERE true`,"}},
			foundBy: []probe{suite("sqlite-modernc", "Sweep/one runs at a time, a second ends at once")},
		},
		{
			name:  "a batch that was ended by a time-out ends the clean-up",
			edits: []edit{{"sweep.go", "failed++; failed == batchTries", "failed++; failed > 0"}},
			foundBy: []probe{test("suite", "TestASweepObeysAStatementTimeout/mariadb"), test("suite", "TestASweepObeysAStatementTimeout/mysql56"),
				test("suite", "TestASweepObeysAStatementTimeout/postgres-pgx"), test("suite", "TestASweepObeysAStatementTimeout/sqlite-modernc")},
		},
		{
			name:    "who has lost the turn to sweep goes on",
			edits:   []edit{{"clean.go", "if err != nil || n != 1 {\n\t\treturn orElse(err, ErrSweeping)", "if err != nil || n < 0 {\n\t\treturn orElse(err, ErrSweeping)"}},
			foundBy: []probe{suite("sqlite-modernc", "Sweep/who has lost the turn stops")},
		},
		{
			name:    "clean-up picks what a claim holds",
			edits:   []edit{{"engine.go", "LevelReadUncommitted", "LevelReadCommitted"}},
			foundBy: []probe{suite("mariadb", "Sweep/goes round what is held")},
		},
		{
			name:    "a batch of which all is held ends the clean-up",
			edits:   []edit{{"clean.go", "b.found += len(some) - len(locked)", ""}},
			foundBy: []probe{suite("mariadb", "Sweep/goes round what is locked")},
		},
	}
}

// The database's clock counts, in UTC.
func clocks() []fault {
	return []fault{
		{
			name:    "expiry by the session's time instead of UTC",
			edits:   []edit{{"mysql.go", "(status = 'failed' OR expires_at <= UTC_TIMESTAMP(6)", "(status = 'failed' OR expires_at <= NOW(6)"}},
			foundBy: []probe{test("worlds", "TestSessionsInThreeTimeZonesAgreeOnWhatHasExpired/mariadb")},
		},
		{
			name:    "leases by the session's time instead of UTC",
			edits:   []edit{{"mysql.go", `"UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND", "CONVERT`, `"NOW(6) + INTERVAL ? MICROSECOND", "CONVERT`}},
			foundBy: []probe{test("worlds", "TestSessionsInThreeTimeZonesAgreeOnWhatHasExpired/mariadb"), test("worlds", "TestSessionsInThreeTimeZonesAgreeOnWhatHasExpired/mysql56")},
		},
		{
			name: "a time of the program is sent with a lease",
			edits: []edit{{"tenure.go", "t.c.updateOnce(running, stmt, []any{t.length.Microseconds(),",
				"t.c.updateOnce(running, stmt, []any{time.Now().UnixMicro(),"}},
			foundBy: []probe{test("worlds", "TestNoTimeOfTheProgramIsSentToTheDatabase/sqlite-modernc")},
		},
	}
}
