<?php
// All steps of buying are this one page, as in many shops: the query says which.
require 'shop.php';

switch ($_GET['step'] ?? 'cart') {
    case 'done':
        genuine();
        $id = place($_POST['item'], (int) $_POST['qty']);
        page("Order $id", '<p>Thank you.</p>');
        break;
    case 'count':
        $_SESSION['qty'] = (int) $_POST['qty'];
        header('Location: flow.php?step=cart', true, 302);
        break;
    default:
        page('Your basket', form('flow.php?step=done'));
}
