package outbox

import "github.com/nebis-dev/nebis/internal/sqltext"

// MySQL and MariaDB. Times are UTC_TIMESTAMP on both sides, whatever the
// session's zone, and texts go in hex and come as bytes, whatever its charset.

func mysqlSchema(n sqltext.Name) []string {
	return []string{`CREATE TABLE IF NOT EXISTS ` + n.Quoted("`") + ` (
  id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
  name VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  call_key VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  payload MEDIUMTEXT CHARACTER SET utf8mb4 NOT NULL,
  state ENUM('pending','running','done','failed','compensating','compensated','dead') NOT NULL DEFAULT 'pending',
  attempts INT NOT NULL DEFAULT 0,
  compensations INT NOT NULL DEFAULT 0,
  token VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NULL,
  due_at DATETIME(6) NULL,
  error TEXT CHARACTER SET utf8mb4 NULL,
  result MEDIUMTEXT CHARACTER SET utf8mb4 NULL,
  created_at DATETIME(6) NOT NULL,
  updated_at DATETIME(6) NOT NULL,
  PRIMARY KEY (id),
  KEY ` + n.Index("idx_due") + ` (due_at, name),
  KEY ` + n.Index("idx_state") + ` (state, updated_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4`}
}

func mysqlDialect() *dialect {
	return &dialect{
		quote:  "`",
		now:    `UTC_TIMESTAMP(6)`,
		later:  `UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND`,
		text:   `CONVERT(UNHEX(?) USING utf8mb4)`,
		read:   `CAST(%s AS BINARY)`,
		micros: `TIMESTAMPDIFF(MICROSECOND, '1970-01-01', %s)`,
		schema: mysqlSchema,
		purge:  `DELETE FROM %s WHERE %s LIMIT ?`,
		hex:    true,
	}
}
