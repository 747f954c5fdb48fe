package nebis

import (
	"fmt"
	"strings"
	"time"
)

// MySQL and MariaDB. A row is updated by its id: InnoDB finds it by the unique
// index only with a lock on the gap before it, in which other keys are claimed,
// and two ways to a row would be two orders in which its locks are taken. Keys,
// scopes and owners have no blanks, so ascii_bin, which ignores blanks at the end,
// compares them byte by byte; and a person can read it. Times are UTC_TIMESTAMP on
// both sides, whatever the session's zone, and answers go in hex and come
// as bytes, whatever its charset: utf8 has no emoji, and gbk is still met.

func mysqlSchema(n name) []string {
	return []string{`CREATE TABLE IF NOT EXISTS ` + n.quoted("`") + ` (
  id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
  idem_key VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  scope VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  owner VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
  status ENUM('processing','done','failed') NOT NULL DEFAULT 'processing',
  fingerprint VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NULL,
  token VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NULL,
  lease_until DATETIME(6) NULL,
  attempts INT NOT NULL DEFAULT 1,
  error TEXT CHARACTER SET utf8mb4 NULL,
  response MEDIUMTEXT CHARACTER SET utf8mb4 NULL,
  created_at DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  updated_at DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6),
  expires_at DATETIME(6) NULL,
  PRIMARY KEY (id),
  UNIQUE KEY ` + n.index("uk") + ` (idem_key, scope, owner),
  KEY ` + n.index("idx_expires") + ` (expires_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4`}
}

const mysqlFree = `(status = 'failed' OR expires_at <= UTC_TIMESTAMP(6) AND (status = 'done' OR token IS NULL))`

func mysqlEngine(n name, strict bool) *engine {
	t := n.quoted("`")
	renew := `UPDATE ` + t + ` SET owner = ?, fingerprint = ?, token = ?, response = NULL, error = NULL, lease_until = NULL,
  attempts = ` + attemptsAgain + `, status = 'processing', created_at = UTC_TIMESTAMP(6), updated_at = UTC_TIMESTAMP(6), expires_at = UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND
WHERE id = ? AND `
	const now, later, text = "UTC_TIMESTAMP(6)", "UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND", "CONVERT(UNHEX(?) USING utf8mb4)"
	const mine = ` WHERE id = ? AND token = ? AND status = 'processing'`
	save := `UPDATE ` + t + ` SET status = 'done', response = ` + text + `, updated_at = ` + now + mine
	e := &engine{
		insert: `INSERT INTO ` + t + ` (idem_key, scope, owner, fingerprint, token, status, created_at, updated_at, expires_at)
VALUES (?, ?, ?, ?, ?, 'processing', UTC_TIMESTAMP(6), UTC_TIMESTAMP(6), UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND)`,
		takeover: renew + `idem_key = ? AND scope = ? AND COALESCE(token, '') = ? AND ` + mysqlFree,
		recheck:  renew + `token = ? AND status = 'done'`,
		read: `SELECT id, status, COALESCE(fingerprint, ''), COALESCE(token, ''), CAST(response AS BINARY),
  COALESCE(` + mysqlFree + `, 0), CASE WHEN lease_until IS NULL THEN 0 WHEN lease_until > UTC_TIMESTAMP(6) THEN 1 ELSE 2 END,
  CASE WHEN status = 'done' AND token IS NOT NULL AND updated_at > UTC_TIMESTAMP(6) - INTERVAL 10 SECOND THEN 1 ELSE 0 END
FROM ` + t + ` WHERE idem_key = ? AND scope = ? AND (owner = ? OR token IS NULL) ORDER BY token IS NULL LIMIT 1`,
		// Only what changes is written: a column that means nothing on a row that is done.
		harden: `UPDATE ` + t + ` SET lease_until = IF(lease_until IS NULL, UTC_TIMESTAMP(6), NULL), updated_at = updated_at WHERE id = ? AND token = ? AND status = 'done'`,
		save:   save,
		saveTx: save,
		grant:  `UPDATE ` + t + ` SET lease_until = ` + later + mine,
		lease:  newLeaseSQL(t, now, later, text),
		clean: cleaner{
			table: t, now: now, later: later, cut: "UTC_TIMESTAMP(6) - INTERVAL ? MICROSECOND", keep: "updated_at = updated_at, ",
			floor: "?", at: "CAST(expires_at AS CHAR)", nothing: "1000-01-01 00:00:00",
			upsert: `ON DUPLICATE KEY UPDATE token = IF(lease_until > UTC_TIMESTAMP(6), token, VALUES(token)), updated_at = updated_at,
  lease_until = IF(token = VALUES(token), VALUES(lease_until), lease_until)`,
		}.sql(),
		won: rowsWon,
	}
	// InnoDB asks for a lock on the gap before a duplicate, and while it waits for
	// that, new keys that sort into the gap wait behind it. A read that waits at
	// READ COMMITTED asks for the row alone. ('' is the owner in old code's rows.)
	e.await = `SELECT id FROM ` + t + ` WHERE idem_key = ? AND scope = ? AND owner IN (?, '') LOCK IN SHARE MODE`
	e.lookSQL(`CAST(error AS BINARY)`, `TIMESTAMPDIFF(MICROSECOND, '1970-01-01', %s)`, ` FOR UPDATE`)
	e.clean.stamp = `UPDATE ` + t + ` SET expires_at = ` + later + `, updated_at = updated_at WHERE expires_at IS NULL AND token IS NULL LIMIT ?`
	e.clean.lock, e.clean.drop, e.clean.between = mysqlSome(t, e.clean.expired)
	e.hex = true
	e.upsert, e.readTx = mysqlUpsert(n), e.read+` FOR UPDATE`
	if strict {
		e.after, e.before = `SAVEPOINT nebis`, `RELEASE SAVEPOINT nebis`
	}
	return e
}

// mysqlSome locks and removes rows by their ids, from a table of these and by the
// index: with a list (IN), a small table is read as a whole, whatever index is named,
// which waits for every row in it that somebody holds.
func mysqlSome(t, expired string) (lock, drop, between string) {
	from := ` FROM (SELECT NULL AS id UNION ALL SELECT {ids}) AS ids STRAIGHT_JOIN ` + t + ` AS k ON k.id = ids.id`
	return `SELECT k.id` + from + ` WHERE ` + expired + ` FOR UPDATE`, `DELETE k` + from, ` UNION ALL SELECT `
}

// The statement that claims inside the caller's transaction. An insert that
// fails and an update after it would lose the transaction to a deadlock; this
// one statement does not. The token that it leaves tells who won: the other
// columns follow it.
func mysqlUpsert(n name) string {
	free := mysqlFree
	set := []string{"token = IF(" + free + ", VALUES(token), token)"}
	for _, c := range []string{"owner", "fingerprint", "created_at", "updated_at", "status", "expires_at"} {
		set = append(set, c+" = IF(token = VALUES(token), VALUES("+c+"), "+c+")")
	}
	for _, c := range []string{"response", "error", "lease_until"} {
		set = append(set, c+" = IF(token = VALUES(token), NULL, "+c+")")
	}
	return `INSERT INTO ` + n.quoted("`") + ` (idem_key, scope, owner, fingerprint, token, created_at, updated_at, status, expires_at)
VALUES (?, ?, ?, ?, ?, UTC_TIMESTAMP(6), UTC_TIMESTAMP(6), 'processing', UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND)
ON DUPLICATE KEY UPDATE ` + strings.Join(set, ",\n  ")
}

// MariaDB can do more in the same number of round trips, by compound statements.
//
// With autocommit off after the claim, whatever the function runs after it has
// lost the transaction to a deadlock is part of a new transaction, which is
// rolled back, and does not become permanent statement by statement. The save
// fails when the savepoint is gone (DDL, a COMMIT by hand) or when no row
// matched, and commits when one did. autocommit goes on again in the same
// statement, so that the session returns to the pool as it was. A compound
// statement does not tell the id of the row that it inserted; the session
// remembers it.
func mariadbEngine(n name) *engine {
	e := mysqlEngine(n, false)
	e.won = errorTells
	e.lock += ` SKIP LOCKED` // MySQL proper has it from 8.0 only
	e.clean.lock += ` SKIP LOCKED`
	e.bounded = func(claim string, wait time.Duration) string {
		return fmt.Sprintf(`BEGIN NOT ATOMIC
SET STATEMENT innodb_lock_wait_timeout=%d FOR %s;
%sSET @nebis = LAST_INSERT_ID();
SAVEPOINT nebis;
SET autocommit = 0;
END`, seconds(wait), claim, mustMatch(claim != e.insert))
	}
	e.boundedTx = func(claim string, wait time.Duration) string {
		return fmt.Sprintf(`SET STATEMENT innodb_lock_wait_timeout=%d FOR %s`, seconds(wait), claim)
	}
	e.lookTx = e.boundedTx(e.look, 0)
	e.save, e.grant = mariadbLast(e.save), mariadbLast(e.grant)
	e.saveCommits = true
	e.disarm = `BEGIN NOT ATOMIC ROLLBACK; SET autocommit = 1; END`
	return e
}

// mariadbLast makes a save or a grant the end of its transaction.
func mariadbLast(stmt string) string {
	return `BEGIN NOT ATOMIC
RELEASE SAVEPOINT nebis;
` + strings.Replace(stmt, "id = ?", "id = COALESCE(?, @nebis)", 1) + `;
` + mustMatch(true) + `COMMIT;
SET autocommit = 1;
END`
}

func mustMatch(needed bool) string {
	if !needed {
		return ""
	}
	return "IF ROW_COUNT() <> 1 THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'nebis: no such row'; END IF;\n"
}

// seconds rounds up to what the server can count.
func seconds(d time.Duration) int {
	return int((d + time.Second - 1) / time.Second)
}
