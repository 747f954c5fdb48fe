package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set when a release is built: -ldflags "-X main.version=v1.2.3".
var version string

// about is the JSON of version.
type about struct {
	Version string `json:"version"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

func newVersion(e env) *cobra.Command {
	var json bool
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Prints the version of this program",
		Example: "  nebis version\n  nebis version --json",
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			v := about{versionName(), runtime.Version(), runtime.GOOS, runtime.GOARCH}
			if json {
				return printJSON(e.stdout, v)
			}
			_, err := fmt.Fprintf(e.stdout, "nebis %s (%s, %s/%s)\n", v.Version, v.Go, v.OS, v.Arch)
			return err
		},
	}
	cmd.Flags().BoolVar(&json, "json", false, "print JSON instead of text")
	return cmd
}

// versionName falls back on what the Go tool wrote into the program.
func versionName() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
