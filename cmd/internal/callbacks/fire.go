// Package callbacks tries a site's callback handlers from outside, whatever they are
// written in, and explains callbacks that were saved.
package callbacks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/nebis-dev/nebis/callback/callbacktest"
)

// A Plan is what to send.
type Plan struct {
	URL      string
	Notice   callbacktest.Notice
	Times    int
	Gap      time.Duration // between two, or between the starts of two
	Parallel bool          // without waiting for the answer of the one before
	Patience time.Duration // for one answer
}

// A Shot is one delivery and its answer.
type Shot struct {
	Status       int    `json:"status,omitempty"`
	Body         string `json:"body,omitempty"` // the beginning
	Location     string `json:"location,omitempty"`
	Acknowledged bool   `json:"acknowledged"`
	Milliseconds int64  `json:"milliseconds"`
	Error        string `json:"error,omitempty"` // where there was no answer
	unreached    bool
}

// shown is how much of a body is kept, in bytes. All acknowledgements are shorter.
const shown = 200

// Fire sends the notice as often as the plan says, each time signed anew. Its error is
// for a plan that cannot be carried out; what a site does is in the shots.
func Fire(ctx context.Context, s *callbacktest.Sender, p Plan) ([]Shot, error) {
	shots := make([]Shot, p.Times)
	var all sync.WaitGroup
	for i := range shots {
		if i > 0 && !pause(ctx, p.Gap) {
			return nil, ctx.Err()
		}
		req, err := s.Request(p.URL, p.Notice)
		if err != nil {
			return nil, err
		}
		all.Go(func() { shots[i] = send(ctx, s, req, p.Patience) })
		if !p.Parallel {
			all.Wait()
		}
	}
	all.Wait()
	for _, shot := range shots {
		if shot.unreached {
			return nil, fmt.Errorf("the site cannot be reached: %s", shot.Error)
		}
	}
	return shots, ctx.Err()
}

func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// client follows no redirect: to a provider it is an answer like any other.
var client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

func send(ctx context.Context, s *callbacktest.Sender, req *http.Request, patience time.Duration) (shot Shot) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	begun := time.Now()
	defer func() { shot.Milliseconds = time.Since(begun).Milliseconds() }()
	res, err := client.Do(req.WithContext(ctx))
	switch {
	case ctx.Err() != nil && err != nil:
		return Shot{Error: fmt.Sprintf("no answer within %v", patience)}
	case err != nil:
		return unanswered(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		return Shot{Status: res.StatusCode, Error: "the answer broke off"}
	}
	return Shot{
		Status: res.StatusCode, Location: res.Header.Get("Location"), Body: string(body[:min(len(body), shown)]),
		Acknowledged: s.Acknowledged(res.StatusCode, body),
	}
}

// unanswered says why, without the address: its query may have the signature.
func unanswered(err error) Shot {
	if at := new(url.Error); errors.As(err, &at) {
		err = at.Err
	}
	dial := new(net.OpError)
	return Shot{Error: err.Error(), unreached: errors.As(err, &dial) && dial.Op == "dial"}
}

// Forged is a sender with the same account and other keys.
func Forged(name string, s *callbacktest.Sender) (*callbacktest.Sender, error) {
	return callbacktest.Makers[name](callbacktest.Keys{Account: s.Keys.Account})
}
