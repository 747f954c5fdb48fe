// Package leases plays random histories of one key's lease, on real databases,
// against a model of a few lines: the table of states in docs/guarantee.md.
//
// Played one step after the other, each step must end as the model says, and
// Look must tell what the model has. Played by several clients at once, the
// history must be linearizable: there is an order of the steps, in which none
// comes before one that had ended when it began, that the model allows.
//
// A history is drawn from a seed. NEBIS_SEED is the seed of the first one
// (without it, one is chosen and printed), the next has the next number;
// NEBIS_HISTORIES is how many are played on each database.
//
//	NEBIS_HISTORIES=1000 go run ./cmd/internal/dbtest/with -fast -- go test ./cmd/internal/leases
package leases
