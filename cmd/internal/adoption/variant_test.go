package adoption

import (
	"strings"

	"github.com/nebis-dev/nebis"
)

// A variant is the hand-made table with one thing done differently: before is
// replaced by after in its CREATE TABLE, then the statements of more run.
type variant struct {
	name          string
	before, after string
	more          []string
	code          string // Check's finding about it, "" for none
	refused       string // part of Migrate's refusal, "" where it is put right
	config        string // one configuration only
}

var variants = map[nebis.Dialect][]variant{
	nebis.MySQL: {
		{name: "key in utf8mb4_bin and wide enough stays", before: "CHAR(36) NOT NULL", after: "VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL", config: "mariadb"},
		{name: "key as UUID", before: "CHAR(36) NOT NULL", after: "UUID NOT NULL", code: "key-narrow", config: "mariadb"},
		{name: "key in latin1", before: "CHAR(36) NOT NULL", after: "VARCHAR(64) CHARACTER SET latin1 NOT NULL", code: "key-folds"},
		{name: "key in ascii_bin, narrow", before: "CHAR(36) NOT NULL", after: "CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL", code: "key-narrow"},
		{name: "key in bytes", before: "CHAR(36) NOT NULL", after: "VARBINARY(36) NOT NULL", code: "key-narrow"},
		{name: "key with a default and a comment", before: "scope VARCHAR(32) NOT NULL COMMENT", after: "scope VARCHAR(32) NOT NULL DEFAULT 'o''r' COMMENT", code: "key-narrow"},
		{name: "scope as ENUM", before: "scope VARCHAR(32)", after: "scope ENUM('order','coupon')", code: "key-narrow"},
		{name: "response as TEXT", before: "MEDIUMTEXT NULL", after: "TEXT NULL", code: "response-small"},
		{name: "response as BLOB", before: "MEDIUMTEXT NULL", after: "BLOB NULL", code: "response-small"},
		{name: "response as JSON", before: "MEDIUMTEXT NULL", after: "JSON NULL", config: "mariadb"},
		{name: "response must be there", before: "MEDIUMTEXT NULL", after: "MEDIUMTEXT NOT NULL", code: "column-required"},
		{name: "response in latin1", before: "MEDIUMTEXT NULL", after: "MEDIUMTEXT CHARACTER SET latin1 NULL", code: "response-alters"},
		{name: "status without failed", before: "'done','failed'", after: "'done','it''s off'", code: "status-words"},
		{name: "status as VARCHAR(8)", before: "status ENUM('processing','done','failed') NOT NULL DEFAULT 'processing'", after: "status VARCHAR(8) NOT NULL DEFAULT 'new'", code: "status-words"},
		{name: "status as number", before: "status ENUM('processing','done','failed') NOT NULL DEFAULT 'processing'", after: "status TINYINT NOT NULL DEFAULT 0", code: "column-type", refused: "column status is tinyint"},
		{name: "status without a default", before: " NOT NULL DEFAULT 'processing'", after: " NOT NULL"},
		{name: "MyISAM", before: "ENGINE=InnoDB", after: "ENGINE=MyISAM", code: "engine"},
		{name: "utf8 of old", before: "CHARSET=utf8mb4", after: "CHARSET=utf8", code: "response-alters"},
		{name: "no unique index", before: "UNIQUE KEY uk_key_scope (idem_key, scope),", after: "", code: "unique-index"},
		{name: "unique over the key alone", before: "(idem_key, scope)", after: "(idem_key)", code: "unique-index"},
		{name: "unique over a prefix", before: "(idem_key, scope)", after: "(idem_key(20), scope)", code: "unique-index"},
		{name: "our index's name", before: "uk_key_scope", after: "idempotency_uk", code: "unique-index"},
		{name: "not unique", more: []string{"ALTER TABLE idempotency ADD owner VARCHAR(128) NOT NULL DEFAULT ''", "CREATE INDEX idempotency_uk ON idempotency (idem_key, scope, owner)"}, code: "unique-index"},
		{name: "a column of the site's", before: "PRIMARY KEY (id)", after: "user_id BIGINT NULL, PRIMARY KEY (id)"},
		{name: "a column that must be filled", before: "PRIMARY KEY (id)", after: "user_id BIGINT NOT NULL, PRIMARY KEY (id)", code: "column-required", refused: "column user_id"},
		{name: "an expiry of the site's", before: "PRIMARY KEY (id)", after: "expires_at DATETIME NULL, PRIMARY KEY (id)", code: "column-type", refused: "expires_at is there"},
		{name: "an owner of the site's", before: "PRIMARY KEY (id)", after: "owner BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (id)", code: "column-type", refused: "column owner is bigint"},
		{name: "no id", before: "id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,", after: "", code: "column-missing", refused: "column id"},
		{name: "times as TIMESTAMP", before: "created_at DATETIME", after: "created_at TIMESTAMP", code: "time-type"},
		{name: "no times", before: "updated_at DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,", after: "", code: "column-missing"},
	},
	nebis.Postgres: {
		{name: "key as text", before: "CHAR(36) NOT NULL", after: "TEXT NOT NULL", code: "-key-folds"},
		{name: "key in citext", before: "CHAR(36) NOT NULL", after: "CITEXT NOT NULL", code: "key-folds"},
		{name: "key in a collation that folds", before: "CHAR(36) NOT NULL", after: "VARCHAR(300) COLLATE folding NOT NULL", code: "key-folds"},
		{name: "key as uuid", before: "CHAR(36) NOT NULL", after: "UUID NOT NULL", code: "key-narrow"},
		{name: "key as bytes", before: "CHAR(36) NOT NULL", after: "BYTEA NOT NULL", code: "column-type", refused: "idem_key is bytea"},
		{name: "key in blanks", before: "CHAR(36) NOT NULL", after: "CHAR(300) NOT NULL", code: "key-folds"},
		{name: "scope as enum", before: "scope VARCHAR(32)", after: "scope scope_word", code: "key-narrow"},
		{name: "status as enum", before: "status VARCHAR(16) NOT NULL DEFAULT 'processing' CHECK (status IN ('processing', 'done', 'failed'))", after: "status status_word NOT NULL DEFAULT 'processing'", code: "status-words"},
		{name: "status in blanks", before: "status VARCHAR(16)", after: "status CHAR(12)", code: "status-words"},
		{name: "status too short", before: "status VARCHAR(16) NOT NULL DEFAULT 'processing' CHECK (status IN ('processing', 'done', 'failed'))", after: "status VARCHAR(8) NOT NULL DEFAULT 'new'", code: "status-words"},
		{name: "status without failed", before: "'done', 'failed'", after: "'done', 'odd'", code: "status-words"},
		{name: "response in varchar", before: "response TEXT NULL", after: "response VARCHAR(4000) NULL", code: "response-small"},
		{name: "response as jsonb", before: "response TEXT NULL", after: "response JSONB NULL", code: "response-json"},
		{name: "response must be there", before: "response TEXT NULL", after: "response TEXT NOT NULL DEFAULT ''", code: "column-required"},
		{name: "unlogged", before: "CREATE TABLE", after: "CREATE UNLOGGED TABLE", code: "engine"},
		{name: "no unique index", before: ",\n  CONSTRAINT uk_key_scope UNIQUE (idem_key, scope)", after: "", code: "unique-index"},
		{name: "an index, not a constraint", before: ",\n  CONSTRAINT uk_key_scope UNIQUE (idem_key, scope)", after: "", more: []string{`CREATE UNIQUE INDEX uk_key_scope ON idempotency (idem_key, scope)`}, code: "unique-index"},
		{name: "our index's name", before: "uk_key_scope", after: "idempotency_uk", code: "unique-index"},
		{name: "partial", more: []string{"ALTER TABLE idempotency ADD owner VARCHAR(128) NOT NULL DEFAULT ''", "CREATE UNIQUE INDEX idempotency_uk ON idempotency (idem_key, scope, owner) WHERE status = 'done'"}, code: "unique-index"},
		{name: "an expiry that says which moment", before: "scope VARCHAR(32) NOT NULL", after: "scope VARCHAR(32) NOT NULL, expires_at TIMESTAMPTZ"},
		{name: "a column that must be filled", before: "scope VARCHAR(32) NOT NULL", after: "scope VARCHAR(32) NOT NULL, user_id BIGINT NOT NULL", code: "column-required", refused: "column user_id"},
		{name: "id without an index", before: "BIGSERIAL PRIMARY KEY", after: "BIGSERIAL", code: "id-index"},
		{name: "id as uuid", before: "BIGSERIAL", after: "UUID DEFAULT gen_random_uuid()", code: "column-type", refused: "column id is uuid"},
		{name: "deferrable", before: "UNIQUE (idem_key, scope)", after: "UNIQUE (idem_key, scope) DEFERRABLE", code: "unique-other", refused: "uk_key_scope"},
	},
	nebis.SQLite: {
		{name: "key without case", before: "idem_key TEXT NOT NULL", after: "idem_key TEXT COLLATE NOCASE NOT NULL", code: "key-folds"},
		{name: "key and scope without case, unique inline", before: "idem_key TEXT NOT NULL, -- a UUID, made by the client\n  scope TEXT NOT NULL", after: "[idem_key] TEXT NOT NULL UNIQUE COLLATE NOCASE, /* , ( */ \"scope\" TEXT NOT NULL DEFAULT 'o''r' COLLATE nocase", code: "key-folds"},
		{name: "key as uuid, which SQLite takes for a number", before: "idem_key TEXT", after: "idem_key UUID", code: "key-folds"},
		{name: "response as json, which SQLite takes for a number", before: "response TEXT NULL", after: "response JSON NULL", code: "response-alters"},
		{name: "status without failed", before: "'done', 'failed'", after: "'done', 'odd'", code: "status-words"},
		{name: "response must be there", before: "response TEXT NULL", after: "response TEXT NOT NULL DEFAULT ''", code: "column-required"},
		{name: "an index, not a constraint", before: ",\n  CONSTRAINT uk_key_scope UNIQUE (idem_key, scope)", after: "", more: []string{`CREATE UNIQUE INDEX uk_key_scope ON idempotency (idem_key, scope)`}, code: "unique-index"},
		{name: "no unique index", before: ",\n  CONSTRAINT uk_key_scope UNIQUE (idem_key, scope)", after: "", code: "unique-index"},
		{name: "partial", more: []string{"ALTER TABLE idempotency ADD owner VARCHAR(128) NOT NULL DEFAULT ''", "CREATE UNIQUE INDEX idempotency_uk ON idempotency (idem_key, scope, owner) WHERE status = 'done'"}, code: "unique-index"},
		{name: "triggers, views, keys and columns of the site's", before: "idem_key TEXT NOT NULL", after: "user_id INTEGER NULL REFERENCES users (id) ON DELETE CASCADE, twice INTEGER GENERATED ALWAYS AS (user_id * 2), idem_key TEXT NOT NULL COLLATE NOCASE",
			more: []string{"CREATE TABLE seen (idem_key TEXT)", "CREATE VIEW answers AS SELECT idem_key, response FROM idempotency",
				"CREATE TRIGGER watch AFTER INSERT ON idempotency BEGIN INSERT INTO seen VALUES (NEW.idem_key); END"}, code: "key-folds"},
		{name: "a key to it", before: "idem_key TEXT NOT NULL", after: "idem_key TEXT NOT NULL COLLATE NOCASE", more: []string{"CREATE TABLE log (i INTEGER REFERENCES idempotency (id))"}, code: "key-folds", refused: "log has a foreign key"},
		{name: "a check on the key", before: "idem_key TEXT NOT NULL", after: "idem_key TEXT NOT NULL COLLATE NOCASE CHECK (length(idem_key) = 36)", code: "key-folds", refused: "has more in it"},
		{name: "id that is not the row's own", before: "INTEGER PRIMARY KEY AUTOINCREMENT", after: "INT PRIMARY KEY", code: "column-type", refused: "column id is INT"},
		{name: "a column that must be filled", before: "scope TEXT NOT NULL", after: "scope TEXT NOT NULL, user_id INTEGER NOT NULL", code: "column-required", refused: "column user_id"},
	},
}

func (v variant) ddl(d nebis.Dialect) []string {
	ddl := append([]string{}, handMade[d]...)
	if v.before != "" && !strings.Contains(ddl[0], v.before) {
		panic("variant " + v.name)
	}
	ddl[0] = strings.Replace(ddl[0], v.before, v.after, 1)
	if v.name == "no id" {
		ddl[0] = strings.Replace(ddl[0], "PRIMARY KEY (id),", "", 1)
	}
	if d == nebis.Postgres {
		ddl = append([]string{"CREATE EXTENSION citext", "CREATE COLLATION folding (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
			"CREATE TYPE scope_word AS ENUM ('order', 'coupon')", "CREATE TYPE status_word AS ENUM ('processing', 'done')"}, ddl...)
	}
	if d == nebis.SQLite {
		ddl = append([]string{"CREATE TABLE users (id INTEGER PRIMARY KEY)"}, ddl...)
	}
	return append(ddl, v.more...)
}
