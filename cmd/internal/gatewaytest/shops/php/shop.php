<?php
// What the pages of the shop share.

session_start();
$_SESSION['token'] ??= bin2hex(random_bytes(16));

function db(): PDO
{
    static $db;
    return $db ??= new PDO(getenv('SHOP_DB'), getenv('SHOP_USER') ?: null, getenv('SHOP_PASSWORD') ?: null);
}

// place writes the order, has it paid, which takes its time, and notes the receipt.
function place(string $item, int $qty): int
{
    db()->prepare('INSERT INTO orders (item, qty) VALUES (?, ?)')->execute([$item, $qty]);
    $id = (int) db()->lastInsertId();
    $post = ['http' => ['method' => 'POST', 'content' => "order=$id", 'header' => 'Content-Type: application/x-www-form-urlencoded']];
    $receipt = json_decode(file_get_contents(getenv('SHOP_PAYMENT'), false, stream_context_create($post)), false, 9, JSON_THROW_ON_ERROR);
    db()->prepare('UPDATE orders SET receipt = ? WHERE id = ?')->execute([$receipt->number, $id]);
    $_SESSION['bought'] = ($_SESSION['bought'] ?? 0) + 1;
    return $id;
}

function genuine(): void
{
    if (!hash_equals($_SESSION['token'], $_POST['token'] ?? '')) {
        http_response_code(403);
        exit('<h1>Your session has ended</h1>');
    }
}

function page(string $title, string $body): void
{
    echo "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><link rel=\"icon\" href=\"data:,\"><title>$title</title>\n<h1>$title</h1>\n$body\n";
}

function form(string $action): string
{
    return "<form id=\"order\" method=\"post\" action=\"$action\">
<input type=\"hidden\" name=\"token\" value=\"{$_SESSION['token']}\">
<input name=\"item\" value=\"tea\"> <input name=\"qty\" value=\"1\">
<button>Buy</button>
</form>";
}
