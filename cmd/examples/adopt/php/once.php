<?php
/** Inserts a row, unless a unique index says that it is there: then returns the row that is. */
function insert_once(PDO $db, string $insert, array $values, string $find, array $key): ?array {
    try {
        run($db, $insert, $values);
        return null;
    } catch (PDOException $e) {
        $first = $db->prepare($find);
        $first->execute($key);
        if ($row = $first->fetch(PDO::FETCH_ASSOC)) {
            return $row;
        }
        throw $e; // it was something else
    }
}
