// Command site is the program that package outboxtests kills and freezes.
package main

import (
	"fmt"
	"os"

	_ "github.com/nebis-dev/nebis/cmd/internal/dbtest" // the drivers
	"github.com/nebis-dev/nebis/cmd/internal/outboxtests"
)

func main() {
	if err := outboxtests.Site(os.Getenv(outboxtests.SiteEnv), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
}
