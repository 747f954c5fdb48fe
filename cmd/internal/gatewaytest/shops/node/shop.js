// A small shop, with nothing but Node's own library. Its orders are lines of a file.

const fs = require("node:fs")
const http = require("node:http")
const { once } = require("node:events")

const form = `<form id="order" method="post" action="/checkout">
<input name="item" value="tea"> <input name="qty" value="1">
<button>Buy</button>
</form>`

const read = () => fs.readFileSync(process.env.SHOP_DB, "utf8").split("\n").filter(Boolean).map(line => JSON.parse(line))
const write = line => fs.appendFileSync(process.env.SHOP_DB, JSON.stringify(line) + "\n")

// place writes the order, has it paid, which takes its time, and notes the receipt.
async function place(item, qty) {
	const id = read().filter(line => line.item).length + 1
	write({ id, item, qty })
	const paying = http.request(process.env.SHOP_PAYMENT, { method: "POST" })
	paying.end(`order=${id}`)
	const [answer] = await once(paying, "response")
	const receipt = JSON.parse(await text(answer))
	write({ id, receipt: receipt.number })
	return id
}

async function text(stream) {
	let all = ""
	for await (const part of stream.setEncoding("utf8")) all += part
	return all
}

function page(res, title, body, status = 200) {
	res.writeHead(status, { "Content-Type": "text/html; charset=utf-8" })
	res.end(`<!doctype html>\n<html lang="en"><meta charset="utf-8"><link rel="icon" href="data:,"><title>${title}</title>\n<h1>${title}</h1>\n${body}\n`)
}

const escape = text => text.replace(/[&<>"]/g, c => `&#${c.charCodeAt(0)};`)

async function serve(req, res) {
	const order = req.url.match(/^\/orders\/(\d+)$/)
	if (req.method == "POST") {
		const fields = new URLSearchParams(await text(req))
		res.writeHead(303, { Location: `/orders/${await place(fields.get("item"), Number(fields.get("qty")))}` }).end()
	} else if (req.url == "/checkout") {
		page(res, "Checkout", form)
	} else if (req.url == "/may") {
		const locked = fs.existsSync(__dirname + "/locked")
		page(res, locked ? "Not yours" : "Yours", "", locked ? 403 : 200)
	} else if (order) {
		const { item, receipt } = Object.assign({}, ...read().filter(line => line.id == order[1]))
		page(res, `Order ${order[1]}`, `<p>${escape(item)}, ${escape(receipt ?? "not paid")}</p>`)
	} else if (req.url == "/") {
		const items = read().filter(line => line.item).map(({ id }) => `<li><a href="/orders/${id}">Order ${id}</a></li>`)
		page(res, "Your orders", `<ul>${items.join("")}</ul>`)
	} else {
		page(res, "Not found", "", 404)
	}
}

const server = http.createServer(serve)
server.listen(Number(process.env.SHOP_PORT), "127.0.0.1", () => console.log(`listening on ${server.address().port}`))
