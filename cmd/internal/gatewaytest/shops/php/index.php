<?php
require 'shop.php';

$path = parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH);
if ($path === '/checkout' && $_SERVER['REQUEST_METHOD'] === 'POST') {
    genuine();
    $id = place($_POST['item'], (int) $_POST['qty']);
    header("Location: /orders/$id", true, 303);
} elseif ($path === '/checkout') {
    page('Checkout', form('/checkout'));
} elseif ($path === '/may') {
    $locked = file_exists(__DIR__ . '/locked') || !isset($_SESSION['token'], $_COOKIE[session_name()]);
    http_response_code($locked ? 403 : 204);
} elseif (preg_match('#^/orders/(\d+)$#', $path, $m)) {
    $order = db()->prepare('SELECT item, receipt FROM orders WHERE id = ?');
    $order->execute([$m[1]]);
    $row = $order->fetch();
    page("Order $m[1]", '<p>' . htmlspecialchars($row['item']) . ', ' . htmlspecialchars($row['receipt'] ?? 'not paid') . '</p>');
} elseif ($path === '/') {
    $list = '';
    foreach (db()->query('SELECT id FROM orders ORDER BY id') as $row) {
        $list .= "<li><a href=\"/orders/{$row['id']}\">Order {$row['id']}</a></li>";
    }
    page('Your orders', "<ul>$list</ul><p>" . ($_SESSION['bought'] ?? 0) . ' bought in this session</p>');
} else {
    http_response_code(404);
    page('Not found', '');
}
