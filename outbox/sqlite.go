package outbox

import "github.com/nebis-dev/nebis/internal/sqltext"

// SQLite. Times are text in UTC with milliseconds, the finest that it knows;
// they sort and can be read.

func sqliteSchema(n sqltext.Name) []string {
	return []string{`CREATE TABLE IF NOT EXISTS ` + n.Quoted(`"`) + ` (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL,
  call_key TEXT NOT NULL,
  payload TEXT NOT NULL,
  state TEXT NOT NULL DEFAULT 'pending'
    CHECK (state IN ('pending', 'running', 'done', 'failed', 'compensating', 'compensated', 'dead')),
  attempts INTEGER NOT NULL DEFAULT 0,
  compensations INTEGER NOT NULL DEFAULT 0,
  token TEXT,
  due_at TEXT,
  error TEXT,
  result TEXT,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
)`,
		// An index is in its table's schema, and says so itself.
		`CREATE INDEX IF NOT EXISTS ` + sqltext.Name{Schema: n.Schema, Table: n.Index("idx_due")}.Quoted(`"`) + ` ON "` + n.Table + `" (due_at, name) WHERE due_at IS NOT NULL`,
		`CREATE INDEX IF NOT EXISTS ` + sqltext.Name{Schema: n.Schema, Table: n.Index("idx_state")}.Quoted(`"`) + ` ON "` + n.Table + `" (state, updated_at)`,
	}
}

func sqliteDialect() *dialect {
	return &dialect{
		quote:  `"`,
		now:    `strftime('%Y-%m-%d %H:%M:%f', 'now')`,
		later:  `strftime('%Y-%m-%d %H:%M:%f', 'now', round(? / 1000000.0, 3) || ' seconds')`,
		text:   `?`,
		read:   `%s`,
		micros: `CAST(ROUND((julianday(%s) - 2440587.5) * 86400000) * 1000 AS INTEGER)`,
		schema: sqliteSchema,
		purge:  `DELETE FROM %[1]s WHERE id IN (SELECT id FROM %[1]s WHERE %[2]s LIMIT ?)`,
		take:   `UPDATE %[1]s SET %[2]s WHERE id IN (SELECT id FROM %[1]s WHERE %[3]s ORDER BY due_at LIMIT ?) RETURNING %[4]s`,

		takeWriter: `UPDATE %s SET id = id WHERE 1 = 0`,
	}
}
