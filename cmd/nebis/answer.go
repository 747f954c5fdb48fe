package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/nebis-dev/nebis/cmd/internal/keytable"
)

// answerFlags are the answer that a duplicate is to get.
type answerFlags struct {
	status                 int
	location, body, result string
}

func (f *answerFlags) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.IntVar(&f.status, "status", 0, "with --done: status of the answer (default 303 with --location, else 200)")
	flags.StringVar(&f.location, "location", "", "with --done: `URL` of the result, such as /orders/7")
	flags.StringVar(&f.body, "body", "", "with --done: `TEXT` of the answer")
	flags.StringVar(&f.result, "result", "", "with --done: the result as `JSON`, for a program that calls nebis.Lease itself")
}

// given reports whether anything is said of an answer.
func (f *answerFlags) given() bool { return *f != answerFlags{} }

// response is the answer as the table keeps it; nil: there is none.
func (f *answerFlags) response() ([]byte, error) {
	if f.result != "" {
		if f.status != 0 || f.location != "" || f.body != "" {
			return nil, usagef("--result is the whole answer: it goes without --status, --location and --body")
		}
		if !json.Valid([]byte(f.result)) {
			return nil, usagef("--result is not JSON")
		}
		return []byte(f.result), nil
	}
	if !f.given() {
		return nil, nil
	}
	if err := f.settle(); err != nil {
		return nil, err
	}
	s := keytable.Stored{Status: f.status, Body: f.body}
	if f.location != "" {
		s.Header = map[string][]string{"Location": {f.location}}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // people read the table
	err := enc.Encode(s)
	return bytes.TrimSpace(b.Bytes()), err
}

// settle fills in the status and finds answers that no client could use.
func (f *answerFlags) settle() error {
	if f.status == 0 {
		f.status = http.StatusOK
		if f.location != "" {
			f.status = http.StatusSeeOther
		}
	}
	leads := f.status/100 == 3 && f.status != http.StatusNotModified
	empty := f.status == http.StatusNoContent || f.status == http.StatusNotModified
	switch {
	case f.status < 200 || f.status > 599:
		return usagef("--status %d is none that an answer can have: 200 to 599", f.status)
	case leads && f.location == "":
		return usagef("--status %d leads to another page: --location says to which", f.status)
	case empty && f.body != "":
		return usagef("--status %d has no body: --body does not go with it", f.status)
	}
	if _, err := url.Parse(f.location); err != nil || strings.ContainsFunc(f.location, unicode.IsControl) {
		return usagef("--location is not a URL")
	}
	return nil
}

// An answer is what can be told of a stored answer without its body.
type answer struct {
	Status   int    `json:"status,omitempty"` // 0: not one of nebishttp
	Location string `json:"location,omitempty"`
	Bytes    int    `json:"bytes"`
}

func summary(response []byte) *answer {
	if response == nil {
		return nil
	}
	a := &answer{Bytes: len(response)}
	if s := keytable.ReadStored(response); s != nil {
		a.Status = s.Status
		a.Location = http.Header(s.Header).Get("Location")
	}
	return a
}
