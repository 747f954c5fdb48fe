package main

import (
	"context"
	"errors"
	"os"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"github.com/nebis-dev/nebis/cmd/internal/scan"
)

// scanFlags is the command line of scan.
type scanFlags struct {
	output
	opts scan.Options
}

func newScan(e env) *cobra.Command {
	f := &scanFlags{}
	cmd := &cobra.Command{
		Use:   "scan FILE…",
		Short: "Finds writes in access logs that were sent twice",
		Long: `Finds, in the access logs of nginx or Apache, writes that the same visitor sent
again within a short time, and names the routes that are worth protecting.
Logs may be rotated and gzipped, in any order; - is standard input.

Exit code: 0 none found, 1 found, 2 could not run.`,
		Example: `  nebis scan /var/log/nginx/access.log*
  nebis scan --within 1h --also '/pay/notify*' access.log
  ssh shop cat access.log | nebis scan --html report.html -
  nebis scan --format '$remote_addr [$time_local] "$request" $status $request_length "$http_user_agent"' access.log`,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.opts.Stdin = cmd.InOrStdin()
			return unable(f.run(cmd.Context(), e, args))
		},
	}
	flags := cmd.Flags()
	flags.DurationVar(&f.opts.Within, "within", scan.Window, "how soon the repeat comes, inclusive")
	flags.StringVar(&f.opts.Format, "format", "", "common, combined, main, vhost_combined, json, or the server's own\nlog_format or LogFormat (default what the first lines look like)")
	flags.StringArrayVar(&f.opts.Also, "also", nil, "path on which GET writes, such as a callback's; * at the end for all below it")
	flags.StringVar(&f.zone, "tz", "", "zone of the report, and of times that have none (default this computer's)")
	f.flags(cmd)
	return cmd
}

// scanGC keeps the memory small where the visitors of a flood are many; a usual
// log makes next to no garbage.
const scanGC = 50

func (f *scanFlags) run(ctx context.Context, e env, names []string) error {
	if err := f.settle(e, names); err != nil {
		return err
	}
	defer debug.SetGCPercent(debug.SetGCPercent(scanGC))
	bar := newProgress(e, size(names), " bytes")
	f.opts.Progress = bar.add
	result, err := scan.Run(ctx, names, &f.opts)
	bar.clear()
	switch {
	case errors.Is(err, scan.ErrOption):
		return &usageError{err}
	case err != nil:
		return err
	}
	return f.show(e, result)
}

func (f *scanFlags) settle(e env, names []string) error {
	if err := f.check(e); err != nil {
		return err
	}
	if len(names) == 0 {
		return usagef("name the logs to read, such as /var/log/nginx/access.log*; - is standard input")
	}
	if f.opts.Within <= 0 {
		return usagef("--within must be more than nothing")
	}
	loc, err := f.location()
	if err != nil {
		return err
	}
	f.opts.Location, f.opts.Full = loc, f.full
	if loc == nil {
		f.opts.Location = time.Local
	}
	return nil
}

// size adds the files up, for the bar; 0 where one has no size.
func size(names []string) int {
	total := 0
	for _, name := range names {
		info, err := os.Stat(name)
		if name == scan.Stdin || err != nil || !info.Mode().IsRegular() {
			return 0
		}
		total += int(info.Size())
	}
	return total
}
