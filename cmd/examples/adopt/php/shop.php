<?php
// What the shop has at every step: its database, its visitors, its pages.
function connect(): PDO {
    $db = new PDO(getenv('SHOP_DB') ?: 'sqlite:adopt-php.db', getenv('SHOP_USER') ?: null, getenv('SHOP_PASSWORD') ?: null);
    $db->setAttribute(PDO::ATTR_ERRMODE, PDO::ERRMODE_EXCEPTION);
    return $db;
}

/** The visitor, in place of the login of a real shop. */
function visitor(): string {
    return (string) filter_input(INPUT_COOKIE, 'visitor');
}

function field(string $name): string {
    return (string) filter_input(INPUT_POST, $name);
}

/** A page with a form; $hidden is what the form carries besides its field. */
function form(string $path, string $hidden): void {
    $name = ['/order' => 'item', '/coupon' => 'campaign', '/ticket' => 'question'][$path];
    if (visitor() === '') {
        setcookie('visitor', bin2hex(random_bytes(16)), ['path' => '/', 'httponly' => true, 'samesite' => 'Lax']);
    }
    $value = htmlspecialchars((string) filter_input(INPUT_GET, $name));
    echo "<!doctype html><form method=\"post\">$hidden<input name=\"$name\" value=\"$value\"> <button>Send</button></form>";
}

/** The page that shows what has been done. */
function thanks(string $what): void {
    echo '<!doctype html><p>Thank you for your ' . htmlspecialchars($what) . '.</p>';
}

function run(PDO $db, string $sql, array $values): void {
    $db->prepare($sql)->execute($values);
}

/** Serves one request: a form, the page after it, or what $post says: a function for each path. */
function serve(callable $hidden, array $post): void {
    $path = (string) parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH);
    try {
        if ($_SERVER['REQUEST_METHOD'] === 'POST' && isset($post[$path])) {
            $post[$path](connect());
        } elseif (strncmp($path, '/thanks/', 8) === 0) {
            thanks(substr($path, 8));
        } elseif (in_array($path, ['/order', '/coupon', '/ticket'], true)) {
            form($path, $hidden($path));
        } else {
            http_response_code(404);
        }
    } catch (Throwable $e) {
        error_log($e->getMessage());
        http_response_code($e->getCode() === 422 ? 422 : 500);
        echo 'This did not work. Please open the form again.';
    }
}
