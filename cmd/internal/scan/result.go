package scan

import (
	"time"

	"github.com/nebis-dev/nebis/cmd/internal/report"
)

// Result is what logs have told. The tags name it in JSON.
type Result struct {
	Files    []File        `json:"files"`
	Lines    int           `json:"lines"`
	Broken   int           `json:"broken"`   // lines that no format fits, those too long among them
	TooLong  int           `json:"too_long"` // lines over 256 KiB
	Late     int           `json:"late"`     // writes over a minute out of order
	Crowded  bool          `json:"crowded"`  // more visitors at once than are remembered
	From     time.Time     `json:"from,omitzero"`
	To       time.Time     `json:"to,omitzero"`
	Window   float64       `json:"window_seconds"`
	Writes   int           `json:"writes"`
	Repeated int           `json:"repeated"`
	Groups   int           `json:"groups"`
	Gaps     report.Gaps   `json:"gaps"`
	Hours    [24]int       `json:"hours"`
	Causes   map[Cause]int `json:"causes"`
	Routes   []*Route      `json:"routes"`
	Newest   []*Group      `json:"newest"`
	Protect  []string      `json:"protect"` // ready for the command line of the gateway

	window      time.Duration
	location    *time.Location
	newest      newest
	firstBroken string
	from, to    int64
}

// File is one log.
type File struct {
	Name   string `json:"name"`
	Lines  int    `json:"lines"`
	Broken int    `json:"broken"`
	Trail  string `json:"broke_off,omitempty"` // why it ended before its end
	Twin   string `json:"same_as,omitempty"`   // the log that it is; it was read once

	broke error
}

// span widens the time that the logs cover.
func (r *Result) span(at int64) {
	if r.from == 0 || at < r.from {
		r.from = at
	}
	r.to = max(r.to, at)
}

// finish makes the result fit to be shown.
func (r *Result) finish(rs *routes, opts *Options) {
	for _, f := range r.Files {
		r.Lines += f.Lines
		r.Broken += f.Broken
	}
	if r.from != 0 {
		r.From, r.To = time.UnixMicro(r.from).In(opts.Location), time.UnixMicro(r.to).In(opts.Location)
	}
	r.Window = r.window.Seconds()
	r.Routes = rs.sorted()
	r.Newest = r.newest.list()
	r.Protect = []string{}
	for _, g := range r.Newest {
		g.First = g.First.In(opts.Location)
		if !opts.Full {
			g.Address = shorten(g.Address)
		}
	}
	for _, route := range r.Routes {
		if line, exact := route.protect(); exact && route.Worth == Protect {
			r.Protect = append(r.Protect, line)
		}
	}
}

// Found tells whether any write was repeated.
func (r *Result) Found() bool { return r.Repeated > 0 }
