<?php
// An order whose work goes wrong in the way that the field "how" says.
require __DIR__ . '/nebis.php';

$way = ['wait' => function () {
    if (file_get_contents(getenv('GATE')) === false) {
        throw new RuntimeException('no answer from the gate');
    }
}, 'throw' => function () {
    throw new RuntimeException('out of tea');
}, 'exit' => function () {
    exit('bye');
}, 'fatal' => function () {
    str_repeat('x', 1 << 30); // above memory_limit
}, 'commit' => function (PDO $db) {
    $db->exec('COMMIT');
}, 'ddl' => function (PDO $db) {
    $db->exec('CREATE TABLE made_by_hand (id INTEGER)');
}, 'ddl-throw' => function (PDO $db) {
    $db->exec('CREATE TABLE made_by_hand (id INTEGER)');
    throw new RuntimeException('out of tea');
}, 'deadlock' => function (PDO $db) {
    try {
        $db->exec('UPDATE stock SET n = n - 1 WHERE id = 1');
        file_get_contents(getenv('GATE'));
        $db->exec('UPDATE stock SET n = n - 1 WHERE id = 2');
    } catch (PDOException $hidden) {
        $db->exec("INSERT INTO orders (owner, item, qty) VALUES ('nobody', 'after the deadlock', 1)");
    }
}, 'large' => function (PDO $db, &$answer) {
    $answer = ['large' => str_repeat('x', (1 << 20) + 1)];
}];

$nebis = new Nebis(function () {
    return new PDO(getenv('SHOP_DB'), getenv('SHOP_USER') ?: null, getenv('SHOP_PASSWORD') ?: null, [PDO::ATTR_EMULATE_PREPARES => false]); // checkout.php has the default
}, (int) ($_POST['wait'] ?? 10));
try {
    $answer = $nebis->once('order', $_POST['owner'] ?? 'ann', $_POST['idempotency_key'],
        isset($_POST['any']) ? null : ['item' => $_POST['item']], function (PDO $db) use ($way) {
        $db->prepare('INSERT INTO orders (owner, item, qty) VALUES (?, ?, 1)')->execute(['ann', $_POST['item']]);
        $answer = ['id' => (int) $db->lastInsertId(), 'item' => $_POST['item']];
        if (isset($_POST['how'])) {
            $way[$_POST['how']]($db, $answer);
        }
        return $answer;
    });
    echo json_encode($answer);
} catch (Throwable $e) {
    error_log($e->getMessage());
    http_response_code($e instanceof NebisError ? $e->getCode() : 418);
    echo $e->getMessage();
}
