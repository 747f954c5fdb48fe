package main

// measured is a test of what Prometheus is shown, told one of what OpenTelemetry is.
func measured(name string) probe { return probe{pkg: "cmd/metrics", run: levels(name)} }

func told(name string) probe { return probe{pkg: "cmd/metrics/otelnebis", run: levels(name)} }

// Numbers say what happened, name nobody, and cost the database next to nothing.
func measuring() []fault {
	return []fault{
		{
			name:    "metrics: a replay is counted as if it had run",
			edits:   []edit{{"cmd/internal/figures/counts.go", "s.ended.inc(ctx, string(e.Outcome))", "if e.Outcome == nebis.ReplayedTable {\n\t\te.Outcome = nebis.Ran\n\t}\n\ts.ended.inc(ctx, string(e.Outcome))"}},
			foundBy: []probe{measured("TestOperationsAreCounted/sqlite-modernc"), told("TestOperationsAreCounted/sqlite-modernc")},
		},
		{
			name:    "metrics: a key is in a label",
			edits:   []edit{{"claim.go", "ev: Event{Scope: op.Scope}}", "ev: Event{Scope: op.Scope + \"/\" + op.Key}}"}},
			foundBy: []probe{measured("TestOperationsAreCounted/sqlite-modernc"), told("TestOperationsAreCounted/sqlite-modernc")},
		},
		{
			name:    "metrics: scopes without a bound",
			edits:   []edit{{"cmd/internal/bounded/bounded.go", "m.values() >= m.most", "m.values() < 0"}},
			foundBy: []probe{measured("TestScopesAreFew")},
		},
		{
			name:    "metrics: the database is read at every scrape",
			edits:   []edit{{"cmd/internal/gauges/gauges.go", "time.Since(r.at) < r.o.Every", "time.Since(r.at) < 0"}},
			foundBy: []probe{measured("TestTheDatabaseIsAskedSeldom"), told("TestTheDatabaseIsAskedSeldom")},
		},
		{
			name:    "metrics: a counter begins with the first that it counts (OpenTelemetry)",
			edits:   []edit{{"cmd/metrics/otelnebis/otelnebis.go", "\tc.Add(context.Background(), 0, with...)\n", ""}},
			foundBy: []probe{told("TestOperationsAreCounted/sqlite-modernc"), told("TestEveryMetricOfPrometheusHasItsBrother/sqlite-modernc")},
		},
		{
			name:    "metrics: a database that is away hides what this process knows",
			edits:   []edit{{"cmd/internal/figures/watched.go", "\tnow := r.Now()\n", "\tif r.Read().Err != nil {\n\t\treturn\n\t}\n\tnow := r.Now()\n"}},
			foundBy: []probe{measured("TestADatabaseThatIsAwayIsTold/sqlite-modernc"), told("TestADatabaseThatIsAwayIsTold/sqlite-modernc")},
		},
	}
}

// What holds a key for too long is found, and nothing else is taken for it.
func watching() []fault {
	return []fault{
		{
			name:    "stuck: seen only after an hour, not after 60 seconds (MariaDB)",
			edits:   []edit{{"cmd/internal/gauges/gauges.go", "cmp.Or(o.Over, 60*time.Second)", "cmp.Or(o.Over, 60*time.Minute)"}},
			foundBy: []probe{test("gauges", "TestSixtySecondsAreTooLong/mariadb")},
		},
		{
			name:    "stuck: what is not committed is not looked at (MariaDB)",
			edits:   []edit{{"cmd/internal/gauges/held.go", "sql.LevelReadUncommitted", "sql.LevelReadCommitted"}},
			foundBy: []probe{test("gauges", "TestATransactionThatHoldsAKeyIsCounted/mariadb")},
		},
		{
			name:    "stuck: the age of a transaction is not looked at (PostgreSQL)",
			edits:   []edit{{"cmd/internal/stuck/postgres.go", "a.xact_start < clock_timestamp() - $2 * interval '1 microsecond'", "a.xact_start < clock_timestamp() + $2 * interval '1 microsecond'"}},
			foundBy: []probe{test("gauges", "TestATransactionThatHoldsAKeyIsCounted/postgres-pgx")},
		},
		{
			name:    "stuck: any open transaction is taken for one that holds a key (PostgreSQL)",
			edits:   []edit{{"cmd/internal/stuck/postgres.go", "AND l.relation = to_regclass($1) AND l.database =", "AND $1::text <> '' AND l.database ="}},
			foundBy: []probe{test("stuck", "TestOtherTransactionsAreNotFound/postgres-pgx")},
		},
		{
			name:    "stuck: a lease is taken for an open transaction (MariaDB)",
			edits:   []edit{{"cmd/internal/keytable/sql.go", " IS NOT NULL AND ` + t.column(\"lease_until\", \"NULL\") + ` IS NULL`", " IS NOT NULL`"}},
			foundBy: []probe{test("stuck", "TestALeaseIsNotAnOpenTransaction/mariadb"), test("gauges", "TestALeaseIsNoOpenTransaction/mariadb")},
		},
		{
			name:    "stuck: a statement is shown with its values (MariaDB)",
			edits:   []edit{{"cmd/internal/stuck/stuck.go", "\t\tr.Held[i].Query = Shape(d, r.Held[i].Query)\n", ""}},
			foundBy: []probe{test("stuck", "TestAnOpenTransactionIsShownWithoutTheValuesOfItsStatement/mariadb")},
		},
	}
}

// The units of systemd reach this machine only, and may do little on it.
func confining() []fault {
	return []fault{
		{
			name:    "units: the clean-up reaches any address",
			edits:   []edit{{"deploy/systemd/nebis-clean.service", "IPAddressDeny=any\n", ""}},
			foundBy: []probe{test("deploytest", "TestTheUnitsAreHardenedAlike")},
		},
		{
			name:    "units: the inspection runs as root",
			edits:   []edit{{"deploy/systemd/nebis-check.service", "DynamicUser=yes\n", ""}},
			foundBy: []probe{test("deploytest", "TestTheUnitsAreHardenedAlike")},
		},
	}
}
