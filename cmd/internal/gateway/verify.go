package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/nebishttp"
)

// outcomeHeader is how a site says what became of a key. A status alone does not:
// any page that is not there answers 404.
const outcomeHeader = "X-Nebis-Outcome"

const (
	outcomeDone    = "done"
	outcomeNotDone = "not-done"
)

// verifier asks a site about a write of unknown outcome.
type verifier struct {
	url    string // {key} stands for the key
	site   *url.URL
	own    bool // the URL is a path of the site
	client *http.Client
	log    *slog.Logger
	limit  int64
}

// newVerifier returns nil where the route has nobody to ask.
func newVerifier(r *Route, site *url.URL, log *slog.Logger) func(http.ResponseWriter, *http.Request) (nebis.Verdict, error) {
	if r.Verify == "" {
		return nil
	}
	v := &verifier{
		url: r.Verify, site: site, own: strings.HasPrefix(r.Verify, "/"), log: log, limit: r.MaxBody,
		client: &http.Client{
			Transport:     newTransports().shared,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	return v.ask
}

func (v *verifier) ask(w http.ResponseWriter, r *http.Request) (nebis.Verdict, error) {
	key, err := nebishttp.KeyOf(r)
	if err != nil {
		return nebis.CannotTell, err
	}
	req, err := v.request(r.Context(), r, key)
	if err != nil {
		return nebis.CannotTell, err
	}
	res, err := v.client.Do(req)
	if err != nil {
		return nebis.CannotTell, fmt.Errorf("verify: %w", unquoted(err))
	}
	defer res.Body.Close()
	switch said := res.Header.Get(outcomeHeader); said {
	case outcomeDone:
		return nebis.Happened, v.copy(w, res)
	case outcomeNotDone:
		return nebis.DidNotHappen, nil
	default:
		v.log.WarnContext(r.Context(), "verify: the site does not say what became of the write",
			"status", res.StatusCode, "want", outcomeHeader+": "+outcomeDone+" or "+outcomeNotDone)
		return nebis.CannotTell, nil
	}
}

// request asks as the one who asks now: a page of the site may want to know who
// that is. Another host gets the key, and nothing of the person.
func (v *verifier) request(ctx context.Context, r *http.Request, key string) (*http.Request, error) {
	address := strings.ReplaceAll(v.url, "{key}", url.QueryEscape(key))
	if v.own {
		address = v.site.Scheme + "://" + v.site.Host + address
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("verify: %w", unquoted(err))
	}
	req.Header.Set(keyUpstream, key)
	if !v.own {
		return req, nil
	}
	req.Host = r.Host
	for _, name := range []string{"Accept", "Accept-Language", "Authorization", "Cookie", "User-Agent"} {
		if values := r.Header[name]; len(values) > 0 {
			req.Header[name] = values
		}
	}
	return req, nil
}

// copy has the site's answer stored as that of the write.
func (v *verifier) copy(w http.ResponseWriter, res *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(res.Body, v.limit+1))
	if err != nil {
		return fmt.Errorf("verify: %w", err)
	}
	maps.Copy(w.Header(), res.Header)
	w.WriteHeader(res.StatusCode)
	_, err = w.Write(body)
	return err
}

// unquoted leaves the address out of an error: the key is in it.
func unquoted(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
