// Command nebis has the tools around the library: the demonstration shop, find and
// scan, which look for duplicates in a table and in access logs, the gateway,
// reconcile, which compares stored answers with the business, and show, resolve and
// release, with which a person looks after one key.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	os.Exit(run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr))
}
