package main

// call is a test of what becomes of a call, on one configuration. Where nothing
// comes any more it does not wait for as long as it usually would.
func call(config, name string) probe { return impatient("TestACall/" + config + "/" + name) }

func impatient(name string) probe {
	p := test("outboxtests", name)
	p.env = []string{"NEBIS_PATIENCE=20s"}
	return p
}

// The outbox: a call is claimed by one at a time, while its lease holds.
func calling() []fault {
	const vacuous = "` WHERE id = ? AND ? <> '-' AND ? >= 0 AND ? >= 0 AND `"
	return []fault{
		{
			name:    "outbox: a claim that does not look at what has happened since (MySQL 5.6)",
			edits:   []edit{{"outbox/statements.go", "taking + unchanged + ` AND ` + due", "taking + " + vacuous + " + `due_at IS NOT NULL`"}},
			foundBy: []probe{impatient("TestTenWorkersInThreeProcesses/mysql56")},
		},
		{
			name:    "outbox: a claim without SKIP LOCKED (MariaDB)",
			edits:   []edit{{"outbox/claim.go", "` FOR UPDATE SKIP LOCKED`", "``"}},
			foundBy: []probe{impatient("TestTenWorkersInThreeProcesses/mariadb")},
		},
		{
			name:    "outbox: a claim without SKIP LOCKED (PostgreSQL)",
			edits:   []edit{{"outbox/postgres.go", "ORDER BY due_at LIMIT ? FOR UPDATE SKIP LOCKED", "ORDER BY due_at LIMIT ?"}},
			foundBy: []probe{impatient("TestTenWorkersInThreeProcesses/postgres-pgx")},
		},
		{
			name:    "outbox: a lease is not looked at",
			edits:   []edit{{"outbox/statements.go", "mine := due +", "mine := `due_at IS NOT NULL` +"}},
			foundBy: []probe{impatient("TestTenWorkersInThreeProcesses/sqlite-modernc")},
		},
		{
			name:    "outbox: a lease is looked at by the session's time (MariaDB)",
			edits:   []edit{{"outbox/mysql.go", "now:    `UTC_TIMESTAMP(6)`", "now:    `NOW(6)`"}},
			foundBy: []probe{call("mariadb", "sessions in two time zones")},
		},
		{
			name:    "outbox: no heartbeat",
			edits:   []edit{{"outbox/tenure.go", "t.extend(ctx)", "<-ctx.Done()"}},
			foundBy: []probe{call("sqlite-modernc", "a call that outlives its first lease")},
		},
		{
			name:    "outbox: a call whose worker has vanished is not taken again",
			edits:   []edit{{"outbox/statements.go", "mine := due +", "mine := due + ` AND token IS NULL` +"}},
			foundBy: []probe{call("sqlite-modernc", "a worker that vanished before the last try: taken over with the same key"), impatient("TestAProcessKilledAtAStep/sqlite-modernc")},
		},
		{
			name:    "outbox: a claim whose answer came after the lease begins the call",
			edits:   []edit{{"outbox/tenure.go", "if left <= 0 {", "if left <= 0 && false {"}, {"outbox/tenure.go", "err := context.Cause(ctx)\n\tif err == nil {", "var err error\n\tif err == nil {"}},
			foundBy: []probe{{pkg: "outbox", run: "^TestNothingBeginsWhenTheClaimTookLongerThanTheLease$"}},
		},
	}
}

// The outbox: names, the end of Run, and the table.
func minding() []fault {
	return []fault{
		{
			name:    "outbox: names that nobody here makes are claimed",
			edits:   []edit{{"outbox/statements.go", "AND name IN ({list})`", "AND (name IN ({list}) OR 1 = 1)`"}},
			foundBy: []probe{call("sqlite-modernc", "names that nobody here makes are left alone")},
		},
		{
			name:    "outbox: names are compared without regard to case (MariaDB)",
			edits:   []edit{{"outbox/mysql.go", "name VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin", "name VARCHAR(64) CHARACTER SET ascii COLLATE ascii_general_ci"}},
			foundBy: []probe{call("mariadb", "names that nobody here makes are left alone")},
		},
		{
			name:    "outbox: Run does not wait for its calls",
			edits:   []edit{{"outbox/run.go", "\tdefer w.running.Wait()\n", ""}},
			foundBy: []probe{call("sqlite-modernc", "a worker that ends lets its calls finish")},
		},
		{
			name:    "outbox: Migrate takes any table",
			edits:   []edit{{"outbox/migrate.go", "if err := o.probe(ctx, o.db); err != nil {", "if err := o.probe(ctx, o.db); err != nil && false {"}},
			foundBy: []probe{test("outboxtests", "TestMigrate/mysql56")},
		},
		{
			name:    "outbox: no lock in Migrate (PostgreSQL)",
			edits:   []edit{{"outbox/migrate.go", "if o.d == nebis.Postgres {", "if o.d == nebis.Postgres && false {"}},
			foundBy: []probe{test("outboxtests", "TestMigrate/postgres-pgx")},
		},
	}
}
