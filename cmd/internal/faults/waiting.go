package main

// Duplicates in one process wait in memory, for the answer or for their turn.
func waiting() []fault {
	return []fault{
		{
			name:    "a waiter gets the first answer whatever it asked",
			edits:   []edit{{"do.go", "c.ev.Outcome = ReplayedMemory\n\t\traw, err = c.answer(r)", "c.ev.Outcome = ReplayedMemory\n\t\traw, err = []byte(r.response.String), nil"}},
			foundBy: []probe{suite("sqlite-modernc", "Do/a lone waiter with another fingerprint is refused"), worlds("sqlite-modernc", 40)},
		},
		{
			name:    "the key is not left when the function panics",
			edits:   []edit{{"do.go", "defer func() { s.fs.leave(c.key(), f, r) }()", "defer func() {\n\t\tif v := recover(); v != nil {\n\t\t\tpanic(v)\n\t\t}\n\t\ts.fs.leave(c.key(), f, r)\n\t}()"}},
			foundBy: []probe{worlds("sqlite-modernc", 40)},
		},
		{
			name:    "those who wait are forgotten when the first fails",
			edits:   []edit{{"flight.go", "default:\n\t\tf.baton <- struct{}{}", "default:\n\t\tdelete(fs.m, k)"}},
			foundBy: []probe{test("worlds", "TestWhenTheFirstFailsTheOthersDoNotWaitInVain/sqlite-modernc")},
		},
		{
			name:    "the turn is lost with a waiter who gives up",
			edits:   []edit{{"flight.go", "case <-f.baton:\n\t\tdelete(fs.m, k)", "case <-f.baton:"}},
			foundBy: []probe{{pkg: ".", run: "^TestABatonThatNobodyTakesEndsTheFlight$"}},
		},
		{
			name:    "those who wait keep a place in the database",
			edits:   []edit{{"claim.go", "leave = func() { <-c.s.wait }", "leave = func() {}"}},
			foundBy: []probe{test("suite", "TestAPlaceToWaitInTheDatabaseIsGivenBack/mariadb")},
		},
		{
			name:    "duplicates wait by the insert itself, and new keys beside theirs behind them (InnoDB)",
			edits:   []edit{{"claim.go", "seen == nil && e != nil && e.await != \"\"", "seen == nil && e != nil && e.await == \"-\""}},
			foundBy: []probe{test("worlds", "TestOtherKeysAreDoneWhileManyDuplicatesOfSlowKeysWait/mariadb")},
		},
		{
			name: "Purge takes a connection before its turn (SQLite)",
			edits: []edit{
				{"clean.go", "\tconn, err := s.db.Conn(ctx)\n\tif err != nil {\n\t\treturn err\n\t}\n\tdefer conn.Close()\n", ""},
				{"clean.go", "\tif s.d == SQLite { // its turn before a connection, as in begin\n",
					"\tconn, err := s.db.Conn(ctx)\n\tif err != nil {\n\t\treturn err\n\t}\n\tdefer conn.Close()\n\tif s.d == SQLite {\n"},
			},
			foundBy: []probe{test("suite", "TestPurgeAndDoDoNotWaitForEachOther")},
		},
	}
}
