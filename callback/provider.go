package callback

import (
	"errors"
	"net/http"
	"strconv"
)

// A Provider knows one sender of callbacks. The functions of this package make some;
// any other is made by filling in the fields.
type Provider struct {
	// Name is the scope of the provider's keys: 1 to 64 characters '!' to '~'.
	Name string

	// Read verifies a request, whose body was read already, and says what is in it.
	// An error refuses the request: it should wrap ErrSignature where a signature
	// does not hold, ErrStale where it is too old, and must not quote secrets.
	// Event.Provider need not be set.
	Read func(r *http.Request, body []byte) (Event, error)

	// Acknowledge is the answer on which the provider sends no more. Defaults to 204
	// without a body.
	Acknowledge func(Event) Answer

	// Refuse is the answer on which it sends again. Defaults to the bare status.
	Refuse func(status int) Answer

	// Return reads what the customer's browser brings back from the provider, where
	// the provider signs that; nil where it does not. The event has no Delivery.
	// Use it with Once.
	Return func(r *http.Request) (Event, error)

	// MaxBody is in bytes. Defaults to 1 MiB.
	MaxBody int64
}

// The reasons for which a request is refused, besides those of its shape.
var (
	ErrSignature = errors.New("callback: the signature does not hold")
	ErrStale     = errors.New("callback: the signature is of another time")
)

// An Answer is what a provider gets.
type Answer struct {
	Status int    `json:"status"`
	Type   string `json:"type,omitempty"` // Content-Type; empty for no body
	Body   string `json:"body,omitempty"`
}

func (a Answer) write(w http.ResponseWriter) {
	if a.Type != "" {
		w.Header().Set("Content-Type", a.Type)
	}
	if a.Body != "" {
		w.Header().Set("Content-Length", strconv.Itoa(len(a.Body)))
	}
	w.WriteHeader(a.Status)
	_, _ = w.Write([]byte(a.Body)) // a client that has gone sends again
}

func (p Provider) acknowledge(e Event) Answer {
	if p.Acknowledge == nil {
		return Answer{Status: http.StatusNoContent}
	}
	return p.Acknowledge(e)
}

func (p Provider) refuse(status int) Answer {
	if p.Refuse == nil {
		return Answer{Status: status}
	}
	return p.Refuse(status)
}

// saying answers with a text, whatever happened.
func saying(text string) func(Event) Answer {
	return func(Event) Answer { return Answer{http.StatusOK, plainText, text} }
}

func refusing(text string) func(int) Answer {
	return func(status int) Answer { return Answer{status, plainText, text} }
}

const plainText = "text/plain; charset=utf-8"
