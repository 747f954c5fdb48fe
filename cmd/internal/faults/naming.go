package main

// Scope, owner and key name an operation, byte by byte.
func naming() []fault {
	return []fault{
		{
			name:    "the owner is left out",
			edits:   []edit{{"op.go", "op.Owner = ownerColumn(op.Owner)", "op.Owner = storedAnyone"}},
			foundBy: []probe{suite("sqlite-modernc", "Do/keeps scopes and owners apart"), worlds("sqlite-modernc", 40)},
		},
		{
			name:    "keys are compared without regard to case (MariaDB)",
			edits:   []edit{{"mysql.go", "idem_key VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin", "idem_key VARCHAR(255) CHARACTER SET ascii COLLATE ascii_general_ci"}},
			foundBy: []probe{suite("mariadb", "Do/keeps keys apart byte by byte"), worlds("mariadb", 80)},
		},
		{
			name:    "keys are compared without regard to case (SQLite)",
			edits:   []edit{{"sqlite.go", "idem_key TEXT NOT NULL", "idem_key TEXT COLLATE NOCASE NOT NULL"}},
			foundBy: []probe{suite("sqlite-modernc", "Do/keeps keys apart byte by byte")},
		},
		{
			name:    "fingerprints are not compared",
			edits:   []edit{{"op.go", "if a == \"\" || b == \"\" || a == b {", "if true {"}},
			foundBy: []probe{suite("sqlite-modernc", "Do/refuses another fingerprint"), worlds("sqlite-modernc", 40)},
		},
		{
			name:    "a result that is too large is cut",
			edits:   []edit{{"do.go", "if len(raw) <= c.op.MaxResponse {", "if raw := raw[:min(len(raw), c.op.MaxResponse)]; true {"}},
			foundBy: []probe{worlds("sqlite-modernc", 40)},
		},
	}
}
