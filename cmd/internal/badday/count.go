package badday

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
)

// Duplicates asks the command nebis at path how many of an event's rows are too many in
// the database at url.
func (e Event) Duplicates(ctx context.Context, nebis, url string) (surplus int, err error) {
	cmd := exec.CommandContext(ctx, nebis, "find", "--json", "--db", url, "--table", e.Table, "--same", e.Same,
		"--where", e.Same+" = '"+e.Name+"'", "--at", "created_at", "--within", "1h")
	cmd.Env = append(cmd.Environ(), "NO_COLOR=1")
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		err = nil // found
	}
	if err != nil {
		return 0, fmt.Errorf("%v: %w\n%s", cmd.Args, err, stderr(err))
	}
	var report struct{ Rows, Surplus int }
	if err := json.Unmarshal(out, &report); err != nil {
		return 0, err
	}
	if report.Rows == 0 {
		return 0, fmt.Errorf("%s has no row of %s", e.Table, e.Name)
	}
	return report.Surplus, nil
}

func stderr(err error) []byte {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.Stderr
	}
	return nil
}
