// Package badday sends a shop what a bad day brings: the same writes again, in every way
// that the web knows. It is the day of docs/adopt.md.
package badday

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"sync"
)

// Send sends the day to the shop at base. It returns an error when the shop does not
// answer as a shop does; what it wrote twice is for `nebis find` to count.
func Send(ctx context.Context, base string) error {
	var all []error
	for _, e := range events {
		jar, err := cookiejar.New(nil)
		if err != nil {
			return err
		}
		v := &visitor{ctx: ctx, base: strings.TrimSuffix(base, "/"), client: &http.Client{Jar: jar}}
		if err := e.happens(v, e); err != nil {
			all = append(all, fmt.Errorf("%s, %s: %w", e.Path, e.Name, err))
		}
	}
	return errors.Join(all...)
}

// visitor is one customer with a browser.
type visitor struct {
	ctx    context.Context
	base   string
	client *http.Client
}

// page is a form as the browser holds it: sent again, it is the same.
type page struct {
	url  string
	body string
}

var keyField = regexp.MustCompile(`name="idempotency_key" value="([^"]+)"`)

// open opens the page of an event's form.
func (v *visitor) open(e Event) (page, error) {
	form := url.Values{e.Field: {e.Name}}
	text, _, err := v.ask(http.MethodGet, page{url: v.base + e.Path + "?" + form.Encode()})
	if m := keyField.FindStringSubmatch(text); m != nil {
		form.Set("idempotency_key", m[1])
	}
	return page{v.base + e.Path, form.Encode()}, err
}

// send sends a form, and returns the method and address of the page that is shown then.
func (v *visitor) send(p page) (*http.Request, error) {
	text, shown, err := v.ask(http.MethodPost, p)
	if err == nil && !strings.Contains(text, "Thank you") && text != "success" {
		err = fmt.Errorf("the shop says %q", text)
	}
	return shown, err
}

func (v *visitor) request(method string, p page) (*http.Request, error) {
	r, err := http.NewRequestWithContext(v.ctx, method, p.url, strings.NewReader(p.body))
	if err != nil {
		return nil, err
	}
	r.Close = true // a worker of PHP's own server serves one connection at a time
	r.Header.Set("Accept", "text/html")
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return r, nil
}

func (v *visitor) ask(method string, p page) (text string, shown *http.Request, err error) {
	r, err := v.request(method, p)
	if err != nil {
		return "", nil, err
	}
	res, err := v.client.Do(r)
	if err != nil {
		return "", nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("the shop answers %s: %s", res.Status, body)
	}
	return string(body), res.Request, err
}

// atOnce sends a form n times at once.
func (v *visitor) atOnce(n int, p page) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { _, errs[i] = v.send(p) })
	}
	wg.Wait()
	return errors.Join(errs...)
}
