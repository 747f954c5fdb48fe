<?php
// A checkout: a form, the order, a page that shows it. However often the form is sent, there is one order.
require __DIR__ . '/nebis.php';

function connect(): PDO {
    return new PDO(getenv('SHOP_DB') ?: 'mysql:host=localhost;dbname=shop;charset=utf8mb4',
        getenv('SHOP_USER') ?: 'shop', getenv('SHOP_PASSWORD') ?: 'secret');
}

function page(string $title, string $body): void {
    echo "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>$title</title>\n<h1>$title</h1>\n$body\n";
}

session_start();
$_SESSION += ['visitor' => bin2hex(random_bytes(16)), 'csrf' => bin2hex(random_bytes(16))];
$owner = $_SESSION['visitor']; // stays when the session gets another id; for who has logged in: the user's number
$csrf = $_SESSION['csrf'];
session_write_close(); // a session serves one request at a time: the second click would wait here

$nebis = new Nebis('connect');
if ($_SERVER['REQUEST_METHOD'] === 'POST') {
    $item = (string) filter_input(INPUT_POST, 'item');
    $qty = filter_input(INPUT_POST, 'qty', FILTER_VALIDATE_INT, ['options' => ['min_range' => 1, 'max_range' => 99]]);
    if (!hash_equals($csrf, (string) filter_input(INPUT_POST, 'csrf')) || $item === '' || !$qty) {
        http_response_code(400); // before the key is claimed
        page('Please fill in the form again', '<p><a href="checkout.php">To the form</a></p>');
        exit;
    }
    try {
        $order = $nebis->once('order', $owner, (string) filter_input(INPUT_POST, 'idempotency_key'), ['item' => $item, 'qty' => $qty],
            function (PDO $db) use ($owner, $item, $qty) {
                $db->prepare('INSERT INTO orders (owner, item, qty) VALUES (?, ?, ?)')->execute([$owner, $item, $qty]);
                return ['id' => (int) $db->lastInsertId()]; // no echo, no header, no exit in here
            });
        header("Location: checkout.php?order=$order[id]", true, 303);
    } catch (Throwable $e) {
        error_log($e->getMessage());
        $status = $e instanceof NebisError ? $e->getCode() : 503; // nothing has happened, then
        $say = [409 => 'Your order is being worked on. Send the form again in a moment: it will not be ordered twice.',
            422 => 'This form was already sent, with something else in it.',
            503 => 'This did not work. Send the form again: it will not be ordered twice.'];
        http_response_code($status);
        page('Not yet', '<p>' . ($say[$status] ?? 'Please ask us what became of your order.') . '</p><p><a href="checkout.php">A new order</a></p>');
    }
} elseif (isset($_GET['order'])) {
    $find = $nebis->pdo()->prepare('SELECT id, item, qty FROM orders WHERE id = ? AND owner = ?');
    $find->execute([(int) $_GET['order'], $owner]);
    $order = $find->fetch(PDO::FETCH_ASSOC);
    http_response_code($order ? 200 : 404);
    page($order ? "Order $order[id]" : 'No such order', $order ? "<p>$order[qty] × " . htmlspecialchars($order['item']) . '</p>' : '');
} else {
    page('Checkout', '<form method="post">' . Nebis::field() . "<input type=\"hidden\" name=\"csrf\" value=\"$csrf\">"
        . '<input name="item" value="tea"> <input name="qty" value="1" size="2"> <button>Order</button></form>');
}
