package shop

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// wish is what a request asks for, as JSON or as a form.
type wish struct {
	item  string
	qty   int
	delay time.Duration // slow work, on purpose
	fail  string        // "", error, panic or 500, on purpose
}

// The bounds of a wish.
const (
	maxQty   = 99
	maxDelay = 10_000 // milliseconds
	maxBody  = 1 << 20
)

// inputError says which field is wrong; text is a key of texts.
type inputError struct{ field, text string }

func (e *inputError) Error() string { return e.field + ": " + say(english, e.text) }

// readWish takes the fields out of a JSON object or a form.
func readWish(r *http.Request) (wish, error) {
	field, err := fieldsOf(r)
	if err != nil {
		return wish{}, err
	}
	w := wish{item: field("item"), fail: field("fail")}
	if !known(w.item) {
		return w, &inputError{"item", "bad_item"}
	}
	var ok bool
	if w.qty, ok = number(field("qty"), 1, maxQty); !ok {
		return w, &inputError{"qty", "bad_qty"}
	}
	ms := 0
	if text := field("delay_ms"); text != "" {
		if ms, ok = number(text, 0, maxDelay); !ok {
			return w, &inputError{"delay_ms", "bad_delay"}
		}
	}
	w.delay = time.Duration(ms) * time.Millisecond
	if !slices.Contains([]string{"", "error", "panic", "500"}, w.fail) {
		return w, &inputError{"fail", "bad_fail"}
	}
	return w, nil
}

func number(text string, least, most int) (int, bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= least && n <= most
}

// fieldsOf returns a look-up by name.
func fieldsOf(r *http.Request) (func(string) string, error) {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch kind {
	case "application/x-www-form-urlencoded", "multipart/form-data":
		if err := r.ParseMultipartForm(maxBody); err != nil && !errors.Is(err, http.ErrNotMultipart) {
			return nil, bodyError(err)
		}
		return r.PostFormValue, nil
	case "application/json", "":
		return jsonFields(r.Body)
	}
	return nil, &inputError{"body", "bad_type"}
}

// jsonFields reads one flat JSON object; a number may stand for its own text.
func jsonFields(body io.Reader) (func(string) string, error) {
	dec := json.NewDecoder(body)
	dec.UseNumber()
	var fields map[string]any
	if err := dec.Decode(&fields); err != nil {
		return nil, bodyError(err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, &inputError{"body", "bad_body"}
	}
	return func(name string) string {
		switch v := fields[name].(type) {
		case nil:
			return ""
		case string:
			return v
		case json.Number:
			return v.String()
		default: // true, a list, an object: no field takes one
			return "?"
		}
	}, nil
}

func bodyError(err error) error {
	if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
		return &inputError{"body", "big_body"}
	}
	return &inputError{"body", "bad_body"}
}
