// Command site is the program that package crash kills and freezes.
package main

import (
	"fmt"
	"os"

	"github.com/nebis-dev/nebis/cmd/internal/crash"
	_ "github.com/nebis-dev/nebis/cmd/internal/dbtest" // the drivers
)

func main() {
	if err := crash.Site(os.Getenv(crash.SiteEnv), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
}
