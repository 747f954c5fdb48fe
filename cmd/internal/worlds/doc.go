// Package worlds plays thousands of small random worlds against Do and DoTx: a
// few keys, 2 to 200 duplicates of each over several processes, and everything
// that may go wrong. After each world it looks whether the promise was kept.
//
// A world is planned from a seed, so that a failure can be played again; what
// the scheduler makes of the plan differs from run to run. NEBIS_SEED is the
// seed of the first world (without it, one is chosen and printed), the next has
// the next number; NEBIS_WORLDS is how many are played on each database.
//
//	NEBIS_WORLDS=2000 go run ./cmd/internal/dbtest/with -fast -- go test -run TestWorlds ./cmd/internal/worlds
package worlds
