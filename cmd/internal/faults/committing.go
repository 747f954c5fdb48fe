package main

// What the caller is told about the commit is true.
func committing() []fault {
	return []fault{
		{
			name:    "no claim after a failed COMMIT: reported as not committed",
			edits:   []edit{{"do.go", "return c.settle(ctx, fmt.Errorf(\"nebis: commit: %w\", err), true, r)", "return nil, false, fmt.Errorf(\"%w: %w\", ErrNotCommitted, err)"}},
			foundBy: []probe{test("worlds", "TestAfterALostCommitTheTruthIsTold/postgres-pgx/executed, the answer cut")},
		},
		{
			name:    "no claim after a failed COMMIT: reported as a success",
			edits:   []edit{{"do.go", "return c.settle(ctx, fmt.Errorf(\"nebis: commit: %w\", err), true, r)", "return r, true, nil"}},
			foundBy: []probe{test("worlds", "TestAfterALostCommitTheTruthIsTold/postgres-pgx/cut before it arrives")},
		},
		{
			name:    "a failed save is reported as a success",
			edits:   []edit{{"do.go", "return c.saveFailed(ctx, x, err, r)", "x.rollback()\n\t\treturn r, true, nil"}},
			foundBy: []probe{test("worlds", "TestAfterALostCommitTheTruthIsTold/mariadb-interpolate/cut before it arrives"), worlds("mariadb", 40)},
		},
		{
			name:    "a row that somebody else has done is taken for one's own after a failed COMMIT",
			edits:   []edit{{"do.go", "case r.token == c.token && r.status == \"done\":", "case r.status == \"done\":"}},
			foundBy: []probe{test("worlds", "TestAfterALostCommitTheTruthIsTold/mariadb-interpolate/lost, and another did it")},
		},
		{
			name:    "the save is not looked at: rows affected are ignored",
			edits:   []edit{{"session.go", "if err == nil && n != 1 {", "if err == nil && n > 1 {"}},
			foundBy: []probe{suite("postgres-pgx", "Do/notices a COMMIT by hand"), worlds("postgres", 120)},
		},
		{
			name:    "what a function wrote before its error is committed",
			edits:   []edit{{"do.go", "whole := x.rollback() || ctx.Err() != nil", "whole := x.commit() == nil || ctx.Err() != nil"}},
			foundBy: []probe{suite("sqlite-modernc", "Do/forgets an error"), worlds("sqlite-modernc", 40)},
		},
		{
			name:    "DoTx leaves in place what a function wrote before its error",
			edits:   []edit{{"dotx.go", "if gone := g.undo(ctx); gone != nil {\n\t\t\treturn fmt.Errorf(\"%w: %w\", ErrTxGone, err)", "if gone := ctx.Err(); gone != nil {\n\t\t\treturn fmt.Errorf(\"%w: %w\", ErrTxGone, err)"}},
			foundBy: []probe{suite("sqlite-modernc", "DoTx/a function that fails leaves the caller's work alone"), worlds("postgres", 120)},
		},
	}
}
