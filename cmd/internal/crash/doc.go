// Package crash holds the tests that kill: the program at each step of one Do,
// the database server under load, both frozen and thawed, and the connection
// around COMMIT. After each, the same keys are sent again, and then every
// acknowledged order must be there, none twice, and every answer must equal its
// row.
//
// Within `make test` each happens 20 times. The full count, which takes about an
// hour, and a table of what happened:
//
//	go run ./cmd/internal/dbtest/with -- go test -v -count=1 -timeout 4h ./cmd/internal/crash -times 200
package crash
