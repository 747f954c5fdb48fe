<?php
// Step 3: one table for every form. The indexes of step 2 stay where the business has the rule.
require 'shop.php';
require 'once.php';
require 'nebis.php';

/** A new key for every form; that of an order is made from the visitor's last order, so that two tabs
 *  which have seen the same are one order. */
function hidden(string $path): string {
    if ($path !== '/order') {
        return Nebis::field();
    }
    header('Cache-Control: no-store');
    $last = connect()->prepare('SELECT COALESCE(MAX(id), 0) FROM orders WHERE visitor = ?');
    $last->execute([visitor()]);
    $key = hash('sha256', $last->fetchColumn() . ':' . filter_input(INPUT_GET, 'item'));
    return '<input type="hidden" name="idempotency_key" value="' . $key . '" autocomplete="off">';
}

/** Writes a row once for each form that is sent. */
function form_once(string $scope, string $insert, array $values): void {
    (new Nebis('connect'))->once($scope, visitor(), field('idempotency_key'), $values, function (PDO $db) use ($insert, $values) {
        run($db, $insert, $values);
        return $values;
    });
    header("Location: /thanks/$scope", true, 303);
}

serve('hidden', [
    '/order' => function () {
        form_once('order', 'INSERT INTO orders (visitor, item) VALUES (?, ?)', [visitor(), field('item')]);
    },
    '/coupon' => function (PDO $db) { // as in step 2: its index says all there is to say
        insert_once($db, 'INSERT INTO coupons (visitor, campaign) VALUES (?, ?)', [visitor(), field('campaign')],
            'SELECT id FROM coupons WHERE visitor = ? AND campaign = ?', [visitor(), field('campaign')]);
        header('Location: /thanks/coupon', true, 303);
    },
    '/ticket' => function () {
        form_once('ticket', 'INSERT INTO tickets (visitor, question) VALUES (?, ?)', [visitor(), field('question')]);
    },
    '/paid' => function () {
        (new Nebis('connect', 3, 35 * 86400))->once('paid', Nebis::ANYONE, field('trade_no'), null, function (PDO $db) {
            run($db, 'INSERT INTO points (trade_no, points) VALUES (?, 88)', [field('trade_no')]);
            return [];
        });
        echo 'success';
    },
]);
