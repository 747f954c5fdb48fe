// Package hourly keeps counts of what a Store has done, by hour, scope and
// outcome, in a small table beside the key table. With them one day can be
// compared with another, as nebis check does, where nothing else keeps numbers.
//
//	counts, err := hourly.New(db, nebis.MySQL, nil)
//	err = counts.Migrate(ctx)
//	store, err := nebis.New(db, nebis.MySQL, &nebis.Options{Observe: counts.Observe})
//	go counts.Run(ctx) // writes every few seconds, and once more at the end
//
// Counting takes a lock in memory and nothing else: the database is written to by
// Run alone, never on the path of a claim. Any number of processes share one table.
// The counts are for people: what a process has not written when it is killed is
// lost, and a write whose answer is lost may be counted twice. Keys and owners are
// not in them.
package hourly
