package nebis

// SQLite. Times are text in UTC with milliseconds, the finest that it knows;
// they sort and can be read.

func sqliteSchema(n name) []string {
	t := n.quoted(`"`)
	return []string{`CREATE TABLE IF NOT EXISTS ` + t + ` (
  id INTEGER PRIMARY KEY,
  idem_key TEXT NOT NULL,
  scope TEXT NOT NULL,
  owner TEXT NOT NULL DEFAULT '',
  status TEXT NOT NULL DEFAULT 'processing' CHECK (status IN ('processing', 'done', 'failed')),
  fingerprint TEXT,
  token TEXT,
  lease_until TEXT,
  attempts INTEGER NOT NULL DEFAULT 1,
  error TEXT,
  response TEXT,
  created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now')),
  updated_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now')),
  expires_at TEXT
)`,
		// An index is in its table's schema, and says so itself.
		`CREATE UNIQUE INDEX IF NOT EXISTS ` + name{n.schema, n.index("uk")}.quoted(`"`) + ` ON "` + n.table + `" (idem_key, scope, owner)`,
		`CREATE INDEX IF NOT EXISTS ` + name{n.schema, n.index("idx_expires")}.quoted(`"`) + ` ON "` + n.table + `" (expires_at)`,
	}
}

const (
	sqliteNow  = `strftime('%Y-%m-%d %H:%M:%f', 'now')`
	sqliteKeep = `strftime('%Y-%m-%d %H:%M:%f', 'now', printf('%+.3f seconds', ? / 1000000.0))`
	sqliteFree = `(status = 'failed' OR expires_at <= ` + sqliteNow + ` AND (status = 'done' OR token IS NULL))`
)

func sqliteEngine(n name) *engine {
	t := n.quoted(`"`)
	renew := `UPDATE ` + t + ` SET owner = ?, fingerprint = ?, token = ?, response = NULL, error = NULL, lease_until = NULL,
  attempts = ` + attemptsAgain + `, status = 'processing', created_at = ` + sqliteNow + `, updated_at = ` + sqliteNow + `, expires_at = ` + sqliteKeep + `
WHERE id = ? AND `
	const mine = ` WHERE id = ? AND token = ? AND status = 'processing'`
	save := `UPDATE ` + t + ` SET status = 'done', response = ?, updated_at = ` + sqliteNow + mine
	e := &engine{
		insert: `INSERT INTO ` + t + ` (idem_key, scope, owner, fingerprint, token, status, created_at, updated_at, expires_at)
VALUES (?, ?, ?, ?, ?, 'processing', ` + sqliteNow + `, ` + sqliteNow + `, ` + sqliteKeep + `) ON CONFLICT DO NOTHING`,
		takeover: renew + `idem_key = ? AND scope = ? AND COALESCE(token, '') = ? AND ` + sqliteFree,
		recheck:  renew + `token = ? AND status = 'done'`,
		read: `SELECT id, status, COALESCE(fingerprint, ''), COALESCE(token, ''), response,
  COALESCE(` + sqliteFree + `, 0), CASE WHEN lease_until IS NULL THEN 0 WHEN lease_until > ` + sqliteNow + ` THEN 1 ELSE 2 END, 0
FROM ` + t + ` WHERE idem_key = ? AND scope = ? AND (owner = ? OR token IS NULL) ORDER BY token IS NULL LIMIT 1`,
		save:   save,
		saveTx: save,
		grant:  `UPDATE ` + t + ` SET lease_until = ` + sqliteKeep + mine,
		lease:  newLeaseSQL(t, sqliteNow, sqliteKeep, "?"),
		clean: cleaner{
			table: t, now: sqliteNow, later: sqliteKeep, cut: `strftime('%Y-%m-%d %H:%M:%f', 'now', printf('-%.3f seconds', ? / 1000000.0))`,
			floor: "?", at: "CAST(expires_at AS TEXT)", nothing: "-", ids: "id IN ({ids})",
			upsert: `ON CONFLICT (idem_key, scope, owner) DO UPDATE SET token = excluded.token, lease_until = excluded.lease_until
WHERE COALESCE(lease_until, '') <= ` + sqliteNow,
		}.sql(),
		won:    rowsWon,
		after:  `SAVEPOINT nebis`,
		before: `RELEASE SAVEPOINT nebis`,

		takeWriter: `UPDATE ` + t + ` SET id = id WHERE 1 = 0`,
	}
	e.clean.lock = "" // there is one writer
	e.clean.stamp = `UPDATE ` + t + ` SET expires_at = ` + sqliteKeep + `
WHERE id IN (SELECT id FROM ` + t + ` WHERE expires_at IS NULL AND token IS NULL LIMIT ?)`
	e.lookSQL(`error`, `CAST(ROUND((julianday(%s) - 2440587.5) * 86400000) * 1000 AS INTEGER)`, ``)
	return e
}
