<?php
// A site that tells what it sees, and writes an order as a line of a file.
$path = parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH);
$orders = __DIR__ . '/orders';
if ($path === '/checkout' && $_SERVER['REQUEST_METHOD'] === 'POST') {
    file_put_contents($orders, $_POST['item'] . "\n", FILE_APPEND | LOCK_EX);
    header('Location: /orders', true, 303);
} elseif ($path === '/checkout') {
    echo '<!doctype html><title>Checkout</title><form method="post" action="/checkout"><input name="item" value="tea"><button>Buy</button></form>';
} elseif ($path === '/orders') {
    readfile($orders);
} elseif ($path === '/said') {
    print_r($_SERVER);
} else {
    foreach (['HTTPS', 'REQUEST_SCHEME', 'HTTP_HOST', 'SERVER_PORT', 'REMOTE_ADDR'] as $name) {
        echo "$name=" . ($_SERVER[$name] ?? '') . "\n";
    }
}
