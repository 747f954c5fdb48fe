<?php
// Nebis for PHP: a repeated write takes effect once, and whoever sends it again gets the first
// answer. One file, no Composer; PHP 7.2 or newer with PDO, on MySQL or MariaDB (InnoDB), SQLite
// and PostgreSQL, in the table of Nebis for Go. What it promises, and what not: docs/php.md.

/** The code is the HTTP status: 400 malformed, 409 the first is still at work, 410 done but the answer is
 *  not kept, 422 the key was used for something else, 500 nobody knows, 503 send the same key again. */
class NebisError extends RuntimeException {}

class Nebis {
    const ANYONE = "\0anyone"; // the owner of what belongs to nobody in particular

    // How to say: now; so many microseconds later; an answer, going in; coming out; the limit to lock waits.
    private const SQL = [
        'mysql' => ['UTC_TIMESTAMP(6)', 'UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND', 'CONVERT(UNHEX(?) USING utf8mb4)',
            'CAST(response AS BINARY)', 'SET SESSION innodb_lock_wait_timeout = %d'],
        'pgsql' => ['clock_timestamp()', "clock_timestamp() + CAST(? AS bigint) * interval '1 microsecond'", '?',
            'response', "SET lock_timeout = '%ds'"],
        'sqlite' => ["strftime('%Y-%m-%d %H:%M:%f', 'now')", "strftime('%Y-%m-%d %H:%M:%f', 'now', printf('%+.3f seconds', ? / 1000000.0))", '?',
            'response', 'PRAGMA busy_timeout = %d000'],
    ];
    private const TEXT = JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE; // people read the table
    private $connect, $wait, $keep, $name, $pdo, $mysql, $table, $free, $now, $later, $in, $out, $held;

    /** $connect makes a new PDO whenever it is called: where a COMMIT stays without an answer, another
     *  connection asks. A duplicate waits $wait seconds; an answer is kept for $keep seconds. */
    public function __construct(callable $connect, int $wait = 10, int $keep = 86400, string $table = 'idempotency') {
        [$this->connect, $this->wait, $this->keep, $this->name] = [$connect, max(1, $wait), $keep, $table];
    }

    /** The connection in use. */
    public function pdo(): PDO {
        return $this->pdo ?: $this->pdo = $this->open(($this->connect)());
    }

    private function open(PDO $pdo): PDO {
        if ($pdo->getAttribute(PDO::ATTR_PERSISTENT)) {
            throw new LogicException('nebis: a persistent connection outlives the request, and with it what is not finished');
        }
        $pdo->setAttribute(PDO::ATTR_ERRMODE, PDO::ERRMODE_EXCEPTION);
        $driver = $pdo->getAttribute(PDO::ATTR_DRIVER_NAME);
        [$this->now, $this->later, $this->in, $this->out, $limit] = self::SQL[$driver];
        $this->mysql = $driver === 'mysql';
        $this->table = $this->mysql ? "`$this->name`" : "\"$this->name\"";
        $this->free = "(status = 'failed' OR expires_at <= $this->now AND (status = 'done' OR token IS NULL))";
        $pdo->exec(sprintf($limit, $this->wait));
        return $pdo;
    }

    /** Runs $work once for this scope, owner and key, and returns its result as JSON has it. Every
     *  further call returns the same. The key with something else in $asked is refused.
     *
     *  $work gets the PDO, in a transaction that holds the key. When it returns, what it wrote and its result
     *  are committed together. When it throws, or the script ends, nothing has happened and the key is free. */
    public function once(string $scope, string $owner, string $key, $asked, callable $work) {
        $op = self::checked($scope, $owner, $key);
        [$print, $token] = [self::fingerprint($asked), bin2hex(random_bytes(16))];
        if ($row = $this->claim($op, $print, $token)) {
            return self::answer($row, $print);
        }
        try {
            if (($result = json_encode($work($this->pdo), self::TEXT)) === false) {
                throw new UnexpectedValueException('nebis: the result: ' . json_last_error_msg());
            }
        } catch (Throwable $e) {
            $this->undo($op, $token, $e);
            throw $e;
        }
        try {
            $this->save($token, $result);
        } catch (Throwable $e) {
            $this->undo($op, $token, $e);
            throw new NebisError('nebis: the work had lost its transaction; nothing of it stays', 503, $e);
        }
        try {
            $this->pdo->commit();
            $this->autocommit(1);
        } catch (PDOException $e) {
            return $this->ask($op, $print, $token, $result, $e);
        }
        return json_decode($result, true);
    }

    /** Claims the key. Null: it is held. Else the row of who was there before. */
    private function claim(array $op, string $print, string $token, string $own = ''): ?array {
        [$until, $seen] = [microtime(true) + $this->wait, null];
        for ($n = 0; $n < 20; $n++) {
            usleep($n ? random_int(0, 3000) : 0); // those that met in a deadlock should not meet again
            $this->pdo()->beginTransaction();
            $why = null;
            try {
                if ($this->take($op, $print, $token, $seen)) {
                    $this->pdo->exec('SAVEPOINT nebis'); // gone with the transaction, however that ends
                    $this->autocommit(0); // what is written after it was lost must not stay
                    return null;
                }
            } catch (PDOException $why) { // held too long, done, or a deadlock: the table tells
            }
            $this->rollBack();
            $row = $this->read($op);
            if ($row && (!$row['free'] || $row['token'] === $own)) {
                return $row;
            }
            $seen = $row;
            if (microtime(true) >= $until) {
                break;
            }
        }
        throw new NebisError('nebis: the first is still at work, or the database is busy', 409, $why);
    }

    /** Inserts the row, or takes over the one that was seen, if it still is as it was. */
    private function take(array $op, string $print, string $token, ?array $seen): bool {
        $micros = $this->keep * 1000000;
        if ($seen) {
            $this->held = $seen['id'];
            return $this->run("UPDATE $this->table SET owner = ?, fingerprint = ?, token = ?, response = NULL, error = NULL, lease_until = NULL,
  attempts = CASE WHEN status = 'failed' THEN attempts + 1 ELSE 1 END, status = 'processing', created_at = $this->now, updated_at = $this->now, expires_at = $this->later
WHERE id = ? AND COALESCE(token, '') = ? AND idem_key = ? AND scope = ? AND $this->free",
                [$op[2], $print, $token, $micros, $seen['id'], $seen['token'], $op[0], $op[1]])->rowCount() === 1;
        }
        $this->run("INSERT INTO $this->table (idem_key, scope, owner, fingerprint, token, status, created_at, updated_at, expires_at)
VALUES (?, ?, ?, ?, ?, 'processing', $this->now, $this->now, $this->later)", array_merge($op, [$print, $token, $micros]));
        $this->held = $this->pdo->lastInsertId();
        return true;
    }

    private function read(array $op): ?array {
        $this->pdo(); // another one, where the last was lost
        $row = $this->run("SELECT id, status, COALESCE(fingerprint, ''), COALESCE(token, ''), $this->out, CASE WHEN $this->free THEN 1 ELSE 0 END,
  CASE WHEN lease_until > $this->now THEN 1 ELSE 0 END
FROM $this->table WHERE idem_key = ? AND scope = ? AND (owner = ? OR token IS NULL) ORDER BY token IS NULL LIMIT 1", $op)->fetchAll(PDO::FETCH_NUM);
        $row = $row ? array_combine(['id', 'status', 'print', 'token', 'response', 'free', 'leased'], $row[0]) : null;
        if ($row && $row['status'] === 'done' && $row['free'] && $row['leased']) { // Go's Op.KeepSeen: the key is remembered longer than its answer
            [$row['free'], $row['response']] = [0, null];
        }
        return $row;
    }

    private function save(string $token, string $result): void {
        $this->pdo->exec('RELEASE SAVEPOINT nebis'); // fails after DDL, a COMMIT by hand, a deadlock
        $kept = $this->mysql ? bin2hex($result) : $result; // as text, the connection's charset would convert it
        $saved = $this->run("UPDATE $this->table SET status = 'done', response = $this->in, updated_at = $this->now
WHERE id = ? AND token = ? AND status = 'processing'", [strlen($result) > 1 << 20 ? null : $kept, $this->held, $token]);
        if ($saved->rowCount() !== 1) {
            throw new RuntimeException('nebis: the claimed row is not there');
        }
    }

    /** Rolls back after $e, and looks whether the work had made its writes permanent by itself. */
    private function undo(array $op, string $token, Throwable $e): void {
        $this->rollBack();
        try {
            $row = $this->read($op);
        } catch (PDOException $gone) { // the database, which rolls back what it loses
            return;
        }
        if ($row && $row['token'] === $token) {
            throw new NebisError('nebis: the work ended its transaction itself; a person has to look what it left', 500, $e);
        }
    }

    /** COMMIT failed: claims the key again, which waits for a transaction that still lives, and tells what became of it. */
    private function ask(array $op, string $print, string $token, string $result, Throwable $e) {
        $this->rollBack();
        $this->pdo = null;
        try {
            $row = $this->claim($op, $print, bin2hex(random_bytes(16)), $token);
        } catch (Throwable $asking) {
            throw new NebisError('nebis: COMMIT had no answer: it may have happened; the same key again tells', 503, $e);
        }
        if (!$row) {
            $this->rollBack();
            throw new NebisError('nebis: COMMIT failed: nothing has happened', 503, $e);
        }
        $mine = $row['token'] === $token && $row['status'] === 'done';
        return $mine ? json_decode($result, true) : self::answer($row, $print);
    }

    private static function answer(array $row, string $print) {
        $old = (string) $row['token'] === ''; // of code that knew no tokens, nor whose the answer is
        if ($row['status'] !== 'done') {
            throw $old || $row['leased'] ? new NebisError('nebis: the first is still at work', 409)
                : new NebisError('nebis: nobody knows what became of the first; a person has to look', 500);
        }
        $rule = strtok($print, ':'); // prints by different rules cannot be compared
        if (!$old && $print !== '' && $print !== $row['print'] && strtok((string) $row['print'], ':') === $rule) {
            throw new NebisError('nebis: the key was used before, for something else', 422);
        }
        if ($old || $row['response'] === null) {
            throw new NebisError('nebis: it was done before; the answer is not kept', 410);
        }
        return json_decode($row['response'], true);
    }

    private function rollBack(): void {
        try {
            if ($this->pdo->inTransaction()) {
                $this->pdo->rollBack();
            }
            $this->autocommit(1);
        } catch (PDOException $e) {
            $this->pdo = null;
        }
    }

    private function autocommit(int $on): void {
        if ($this->mysql) {
            $this->pdo->exec("SET autocommit = $on");
        }
    }

    private function run(string $sql, array $values): PDOStatement {
        $stmt = $this->pdo->prepare($sql);
        $stmt->execute($values);
        return $stmt;
    }

    /** The row's key, scope and owner, as Nebis for Go writes them. */
    private static function checked(string $scope, string $owner, string $key): array {
        if (!preg_match('/\A[!-~]{1,64}\z/', $scope) || !preg_match('/\A[!-~]{1,255}\z/', $key) || $owner === '') {
            throw new NebisError('nebis: scope and key have 1 to 64 and 1 to 255 characters ! to ~, the owner is not empty', 400);
        }
        $plain = preg_match('/\A(?!\*\z|sha256:)[!-~]{1,128}\z/', $owner);
        return [$key, $scope, $owner === self::ANYONE ? '*' : ($plain ? $owner : 'sha256:' . hash('sha256', $owner))];
    }

    /** What nebis.Digest makes of the same map in Go; of null nothing, which fits everything. */
    public static function fingerprint($asked): string {
        if ($asked === null) {
            return '';
        }
        $json = json_encode($asked = self::sorted($asked), self::TEXT);
        return $json === false ? 'php:' . hash('sha256', serialize($asked)) // not UTF-8
            : 'd1:' . hash('sha256', str_replace(['<', '>', '&'], ['\u003c', '\u003e', '\u0026'], $json));
    }

    private static function sorted($value) {
        if (is_array($value) && array_values($value) !== $value) {
            ksort($value, SORT_STRING);
        }
        return is_array($value) ? array_map([self::class, 'sorted'], $value) : $value;
    }

    /** The hidden field of a form. Its page must not be cached. */
    public static function field(): string {
        headers_sent() || header('Cache-Control: no-store');
        return '<input type="hidden" name="idempotency_key" value="' . self::newKey() . '" autocomplete="off" data-nebis-renew>';
    }

    /** A UUID of version 7: random, and in the order of time. */
    public static function newKey(): string {
        $b = substr(pack('J', (int) (microtime(true) * 1000)), 2) . random_bytes(10);
        $b[6] = chr(ord($b[6]) & 0x0f | 0x70);
        $b[8] = chr(ord($b[8]) & 0x3f | 0x80);
        return vsprintf('%s%s-%s-%s-%s-%s%s%s', str_split(bin2hex($b), 4));
    }
}
