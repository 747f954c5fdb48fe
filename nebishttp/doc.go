// Package nebishttp makes a repeated HTTP write harmless: the same request sent
// once or ten times takes effect once, and every sender gets the first answer.
//
// That holds for what the handler does in the transaction that it is given,
// within the key's keep time, for requests that carry a key. It does not hold for
// a request without a key (it runs in a plain transaction, without memory; a
// [Route] can require one), nor for what leaves the database: a mail, a call to a
// payment gateway. Those belong after the commit.
//
//	m := nebishttp.New(store, userID, nil)
//	mux.Handle("POST /orders", m.Tx("order", placeOrder, nil))
//
//	func placeOrder(w http.ResponseWriter, r *http.Request, tx *sql.Tx) error {
//		… write with tx; return an error, and nothing of it happened …
//		nebishttp.SeeOther(w, r, "/orders/1")
//		return nil
//	}
//
// # The key
//
// The form field idempotency_key ([Field] renders it), else the header
// Idempotency-Key, as a quoted Structured Field string or bare. The field wins:
// some browsers add a header of their own.
//
// # What commits
//
// The handler returns an error or panics: rolled back, the key is free again. It
// returns nil with 2xx or 3xx: committed, and the answer stored. It returns nil
// with 4xx or 5xx: rolled back, sent, the key is free. [Keep], [Discard] and
// Route.Commit say otherwise. A panic is answered like an error, because net/http
// would drop the connection, and browsers then send the request again; Options.Error
// gets it as a [PanicError]. docs/outcomes.md has the whole table.
//
// # The answer
//
// Nothing reaches the client before the commit, so the handler's answer is
// buffered; it cannot stream, flush or upgrade. A replay has the first status, the
// body byte for byte, and those headers that mean the same to whoever asks again:
// never Set-Cookie. The header Idempotency-Status says which of the two it is.
//
// # Order of middlewares
//
// Outside of ours: sessions, CSRF, and above all authorisation, which must say no
// before a stored answer is shown; compression (what is stored must be readable by
// any client, so the handler's request has no Accept-Encoding).
//
// GET, HEAD, OPTIONS, TRACE and CONNECT pass untouched, WebSocket upgrades with
// them. A POST that asks for an upgrade is a POST: HTTP clients offer h2c with any
// request.
package nebishttp
