package main

import (
	"fmt"
	"io"
	"time"

	"github.com/nebis-dev/nebis/callback/callbacktest"
	"github.com/nebis-dev/nebis/cmd/internal/callbacks"
	"github.com/nebis-dev/nebis/cmd/internal/report"
)

// verdict is what fire has seen.
type verdict struct {
	Provider     string                 `json:"provider"`
	URL          string                 `json:"url"`
	Keys         string                 `json:"keys"`
	NewKeys      bool                   `json:"new_keys"`
	Settings     []callbacktest.Setting `json:"settings"`
	Forged       *callbacks.Shot        `json:"forged,omitempty"`
	Shots        []callbacks.Shot       `json:"deliveries"`
	Acknowledged int                    `json:"acknowledged"`
	Good         bool                   `json:"good"`
	plan         callbacks.Plan
}

func (v *verdict) count() {
	for _, s := range v.Shots {
		if s.Acknowledged {
			v.Acknowledged++
		}
	}
	v.Good = v.Acknowledged == len(v.Shots) && (v.Forged == nil || !v.Forged.Acknowledged)
}

func (v *verdict) announce(w io.Writer) {
	if v.NewKeys {
		fmt.Fprintf(w, "New test keys are in %s. Tell a test copy of the site:\n", v.Keys)
	} else if len(v.Settings) > 0 {
		fmt.Fprintln(w, "The site has to know:")
	}
	for _, s := range v.Settings {
		fmt.Fprintf(w, "  %s: %s\n", s.Name, s.Value)
	}
	how := "one after the other"
	if v.plan.Parallel {
		how = "without waiting for answers"
	}
	fmt.Fprintf(w, "\n%s order %s to %s, %s:\n", report.Plural(v.plan.Times, "time", "times"), v.plan.Notice.Order, v.URL, how)
}

func (v *verdict) print(w io.Writer) {
	if v.Forged != nil {
		printShot(w, "forged", *v.Forged)
	}
	for i, s := range v.Shots {
		printShot(w, fmt.Sprint(i+1), s)
	}
	fmt.Fprintln(w)
	if v.Forged != nil && v.Forged.Acknowledged {
		fmt.Fprintln(w, "The site has acknowledged a callback that anybody could have sent: its signature is not looked at.")
	}
	switch {
	case v.Acknowledged == len(v.Shots):
		fmt.Fprintf(w, "%s acknowledged: the provider would send no more. Look whether the site has done its work once.\n", all(len(v.Shots)))
	case v.Acknowledged == 0 && v.NewKeys:
		fmt.Fprintln(w, "None was acknowledged; the keys are new: tell the site, and run this again.")
	case v.Acknowledged == 0:
		fmt.Fprintln(w, "None was acknowledged: the provider would send it again and again.")
	default:
		fmt.Fprintf(w, "%s acknowledged. A repeated callback wants the same answer as the first.\n", some(v.Acknowledged, len(v.Shots)))
	}
}

func all(n int) string {
	if n == 1 {
		return "The one callback was"
	}
	return fmt.Sprintf("All %d were", n)
}

func some(n, of int) string {
	if n == 1 {
		return fmt.Sprintf("1 of %d was", of)
	}
	return fmt.Sprintf("%d of %d were", n, of)
}

func printShot(w io.Writer, name string, s callbacks.Shot) {
	what := "not acknowledged"
	if s.Acknowledged {
		what = "acknowledged"
	}
	answer := s.Error
	if answer == "" {
		answer = fmt.Sprintf("%d %q", s.Status, s.Body)
	}
	if s.Location != "" {
		answer += " to " + report.CleanLong(s.Location)
	}
	fmt.Fprintf(w, "  %-6s  %-16s  %v, %s\n", name, what, time.Duration(s.Milliseconds)*time.Millisecond, answer)
}
