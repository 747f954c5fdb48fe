<?php
// Makes the tables of a step in an empty database: php setup.php STEP
require __DIR__ . '/shop.php';

$db = connect();
$kind = $db->getAttribute(PDO::ATTR_DRIVER_NAME);
foreach (['shop' => 0, 'index' => 2, 'nebis' => 3] as $name => $since) {
    if ($since <= (int) ($argv[1] ?? 0)) {
        foreach (preg_split('/;\s*$/m', trim(file_get_contents(__DIR__ . "/$name.$kind.sql")), -1, PREG_SPLIT_NO_EMPTY) as $statement) {
            $db->exec($statement);
        }
    }
}
