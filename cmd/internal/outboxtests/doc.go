// Package outboxtests tests the package outbox on real databases, against another
// side that honors the idempotency key: what becomes of a call in every state,
// processes that are killed and frozen at each step of one, and many workers in
// many processes.
//
// Within `make test` each step is killed 5 times. The full count, with a table of
// what happened:
//
//	go run ./cmd/internal/dbtest/with -- go test -v -count=1 -timeout 2h ./cmd/internal/outboxtests -run Killed -times 200
package outboxtests
