"""A small shop, with nothing but Python's own library."""

import html
import json
import os
import re
import sqlite3
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

FORM = """<form id="order" method="post" action="/checkout">
<input name="item" value="tea"> <input name="qty" value="1">
<button>Buy</button>
</form>"""


def database():
    return sqlite3.connect(os.environ["SHOP_DB"], timeout=30, isolation_level=None)


def place(item, qty):
    """Writes the order, has it paid, which takes its time, and notes the receipt."""
    db = database()
    order = db.execute("INSERT INTO orders (item, qty) VALUES (?, ?)", (item, qty)).lastrowid
    with urllib.request.urlopen(os.environ["SHOP_PAYMENT"], f"order={order}".encode()) as answer:
        receipt = json.load(answer)
    db.execute("UPDATE orders SET receipt = ? WHERE id = ?", (receipt["number"], order))
    return order


class Shop(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path == "/checkout":
            return self.page("Checkout", FORM)
        if self.path == "/may":
            locked = os.path.exists(os.path.join(os.path.dirname(__file__), "locked"))
            return self.page("Not yours" if locked else "Yours", "", 403 if locked else 200)
        if self.path == "/":
            ids = [row[0] for row in database().execute("SELECT id FROM orders ORDER BY id")]
            items = "".join(f'<li><a href="/orders/{i}">Order {i}</a></li>' for i in ids)
            return self.page("Your orders", f"<ul>{items}</ul>")
        if match := re.fullmatch(r"/orders/(\d+)", self.path):
            item, receipt = database().execute("SELECT item, receipt FROM orders WHERE id = ?", match.groups()).fetchone()
            return self.page(f"Order {match[1]}", f"<p>{html.escape(item)}, {html.escape(receipt or 'not paid')}</p>")
        return self.page("Not found", "", 404)

    def do_POST(self):
        fields = urllib.parse.parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        order = place(fields["item"][0], int(fields["qty"][0]))
        self.send_response(303)
        self.send_header("Location", f"/orders/{order}")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def page(self, title, body, status=200):
        text = f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><link rel="icon" href="data:,"><title>{title}</title>\n<h1>{title}</h1>\n{body}\n'.encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


server = ThreadingHTTPServer(("127.0.0.1", int(os.environ["SHOP_PORT"])), Shop)
print(f"listening on {server.server_port}", flush=True)
server.serve_forever()
