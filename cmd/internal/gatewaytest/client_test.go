package gatewaytest

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// answer is what a client gets: a status of 0 is none.
type answer struct {
	status            int
	outcome, location string
}

// order sends an order as a program does, on a connection of its own. It is tried once.
func order(t testing.TB, url, key string, header ...string) answer {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url,
		io.NopCloser(strings.NewReader("item=tea&qty=1&idempotency_key="+key)))
	if err != nil {
		t.Error(err)
		return answer{}
	}
	req.Close = true
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return answer{}
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		return answer{}
	}
	return answer{res.StatusCode, res.Header.Get("Idempotency-Status"), res.Header.Get("Location")}
}

// The answers to an order.
var (
	created    = answer{303, "created", "/orders/1"}
	replayed   = answer{303, "replayed", "/orders/1"}
	inProgress = answer{409, "in-progress", ""}
	unknown    = answer{409, "unknown", ""}
	released   = answer{502, "released", ""}
	none       = answer{}
)
