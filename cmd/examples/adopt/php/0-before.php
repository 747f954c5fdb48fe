<?php
// Step 0, as many shops are: whatever comes is written, and answered with a page.
require 'shop.php';

serve(function () { return ''; }, [
    '/order' => function (PDO $db) {
        run($db, 'INSERT INTO orders (visitor, item) VALUES (?, ?)', [visitor(), field('item')]);
        thanks('order');
    },
    '/coupon' => function (PDO $db) {
        run($db, 'INSERT INTO coupons (visitor, campaign) VALUES (?, ?)', [visitor(), field('campaign')]);
        thanks('coupon');
    },
    '/ticket' => function (PDO $db) {
        run($db, 'INSERT INTO tickets (visitor, question) VALUES (?, ?)', [visitor(), field('question')]);
        thanks('ticket');
    },
    '/paid' => function (PDO $db) { // the payment service's callback: a real one checks the signature first
        run($db, 'INSERT INTO points (trade_no, points) VALUES (?, 88)', [field('trade_no')]);
        echo 'success';
    },
]);
