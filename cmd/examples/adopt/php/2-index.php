<?php
// Step 2: what is dearest cannot be written twice. The ticket stays as it was.
require 'shop.php';
require 'once.php';

serve(function () {
    header('Cache-Control: no-store'); // no two visitors get one key from a cache
    return '<input type="hidden" name="idempotency_key" value="' . bin2hex(random_bytes(16)) . '" autocomplete="off">';
}, [
    '/order' => function (PDO $db) {
        if (($key = field('idempotency_key')) === '') {
            throw new RuntimeException('a form without a key', 422);
        }
        $first = insert_once($db, 'INSERT INTO orders (visitor, item, form_key) VALUES (?, ?, ?)', [visitor(), field('item'), $key],
            'SELECT item FROM orders WHERE visitor = ? AND form_key = ?', [visitor(), $key]);
        if ($first && $first['item'] !== field('item')) {
            throw new RuntimeException('this form was sent before, with something else in it', 422);
        }
        header('Location: /thanks/order', true, 303);
    },
    '/coupon' => function (PDO $db) {
        insert_once($db, 'INSERT INTO coupons (visitor, campaign) VALUES (?, ?)', [visitor(), field('campaign')],
            'SELECT id FROM coupons WHERE visitor = ? AND campaign = ?', [visitor(), field('campaign')]);
        header('Location: /thanks/coupon', true, 303);
    },
    '/ticket' => function (PDO $db) {
        run($db, 'INSERT INTO tickets (visitor, question) VALUES (?, ?)', [visitor(), field('question')]);
        header('Location: /thanks/ticket', true, 303);
    },
    '/paid' => function (PDO $db) {
        insert_once($db, 'INSERT INTO points (trade_no, points) VALUES (?, 88)', [field('trade_no')],
            'SELECT id FROM points WHERE trade_no = ?', [field('trade_no')]);
        echo 'success'; // also the second time, or it comes for ever
    },
]);
