<?php
// Step 1: the same writes, but every form is answered with 303 and a page of its own.
require 'shop.php';

serve(function () { return ''; }, [
    '/order' => function (PDO $db) {
        run($db, 'INSERT INTO orders (visitor, item) VALUES (?, ?)', [visitor(), field('item')]);
        header('Location: /thanks/order', true, 303);
    },
    '/coupon' => function (PDO $db) {
        run($db, 'INSERT INTO coupons (visitor, campaign) VALUES (?, ?)', [visitor(), field('campaign')]);
        header('Location: /thanks/coupon', true, 303);
    },
    '/ticket' => function (PDO $db) {
        run($db, 'INSERT INTO tickets (visitor, question) VALUES (?, ?)', [visitor(), field('question')]);
        header('Location: /thanks/ticket', true, 303);
    },
    '/paid' => function (PDO $db) { // the payment service's callback: a real one checks the signature first
        run($db, 'INSERT INTO points (trade_no, points) VALUES (?, 88)', [field('trade_no')]);
        echo 'success';
    },
]);
