package callback

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/nebis-dev/nebis"
)

// Keep is how long deliveries and what they did are remembered: longer than any
// provider's schedule, and than the time for which one sends again by hand.
const Keep = 35 * 24 * time.Hour

// Options of a handler. The zero value of each field has a meaning.
type Options struct {
	// Keep is how long a delivery is remembered. Defaults to [Keep].
	Keep time.Duration

	// Wait is how long a delivery waits for the same one that is under way. After
	// that it is refused, so that the provider sends again. Defaults to 3 s: WeChat
	// Pay wants an answer within five. Negative: not at all.
	Wait time.Duration

	// Timeout bounds the function. It runs on when the provider has gone. Defaults
	// to a minute.
	Timeout time.Duration

	// Log gets what is refused, and why; never a body or a signature. Defaults to
	// slog.Default().
	Log *slog.Logger
}

const (
	defaultWait    = 3 * time.Second
	defaultTimeout = time.Minute
	defaultMaxBody = 1 << 20
)

type handler struct {
	store *nebis.Store
	p     Provider
	fn    func(ctx context.Context, tx *sql.Tx, e Event) error
	o     Options
}

// Handler answers a provider's callbacks: fn runs once for each delivery, in the
// transaction that remembers it. Its error rolls back and refuses the delivery, which
// the provider will send again; so return nil for a notice that is of no interest.
// Where the database has rolled back for the sake of another transaction (a deadlock, a
// serialization failure) fn runs again at once, a few times at most: return that error
// as it is or wrapped, and leave what is outside the database to the outbox.
//
// What becomes of a request: 200 or what the provider wants to hear, when fn has
// returned nil, now or before; 400, 401, 413 for one that cannot be read or verified,
// 503 when the same delivery is under way or the database is busy or away, and 500
// when fn fails: all of these in the provider's form, and not acknowledged.
//
// It panics when p has no Read or no Name, or fn is nil: those are slips of the program.
func Handler(store *nebis.Store, p Provider, fn func(ctx context.Context, tx *sql.Tx, e Event) error, o *Options) http.Handler {
	if store == nil || p.Read == nil || fn == nil || p.Name == "" {
		panic("callback: Handler needs a store, a function, and a provider with Name and Read")
	}
	h := &handler{store: store, p: p, fn: fn}
	if o != nil {
		h.o = *o
	}
	h.o.Keep = or(h.o.Keep, Keep)
	h.o.Wait = or(h.o.Wait, defaultWait)
	h.o.Timeout = or(h.o.Timeout, defaultTimeout)
	h.p.MaxBody = or(h.p.MaxBody, defaultMaxBody)
	if h.o.Log == nil {
		h.o.Log = slog.Default()
	}
	return h
}

func or[T comparable](v, otherwise T) T {
	if v == *new(T) {
		return otherwise
	}
	return v
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e, status, err := h.read(w, r)
	if err != nil {
		h.refuse(w, r, status, err)
		return
	}
	// The provider may give up long before the work is done; then it sends again and
	// finds it done.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), h.o.Timeout)
	defer cancel()
	answer, status, err := h.once(ctx, e)
	if err != nil {
		h.refuse(w, r, status, err)
		return
	}
	answer.write(w)
}

// read returns the status of the refusal with its error.
func (h *handler) read(w http.ResponseWriter, r *http.Request) (Event, int, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, h.p.MaxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return Event{}, http.StatusRequestEntityTooLarge, err
	case err != nil:
		return Event{}, http.StatusBadRequest, err
	}
	e, err := h.p.Read(r, body)
	switch {
	case errors.Is(err, ErrSignature), errors.Is(err, ErrStale):
		return Event{}, http.StatusUnauthorized, err
	case err != nil:
		return Event{}, http.StatusBadRequest, err
	case e.Delivery == "":
		return Event{}, http.StatusBadRequest, errors.New("the notice has no identity")
	}
	e.Provider = h.p.Name
	return e, 0, nil
}

// run has the function's panic as an error: it is one more way to fail, and the
// provider gets an answer.
func (h *handler) run(ctx context.Context, tx *sql.Tx, e Event) (err error) {
	defer func() {
		if p := recover(); p != nil {
			h.o.Log.Error("callback: panic", "provider", h.p.Name, "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return h.fn(ctx, tx, e)
}

// note is best effort: the answer does not depend on it.
func (h *handler) note(e Event, failed error) {
	ctx, cancel := context.WithTimeout(context.Background(), noteTimeout)
	defer cancel()
	if err := note(ctx, h.store, e, failed, h.o.Keep); err != nil && failed != nil {
		h.o.Log.Warn("callback: a failure could not be noted; callback.Migrate makes its table", "provider", h.p.Name, "error", err)
	}
}

func (h *handler) refuse(w http.ResponseWriter, r *http.Request, status int, err error) {
	level := slog.LevelWarn
	if status >= http.StatusInternalServerError && status != http.StatusServiceUnavailable {
		level = slog.LevelError
	}
	h.o.Log.Log(r.Context(), level, "callback: not acknowledged", "provider", h.p.Name, "status", status, "error", err)
	h.p.refuse(status).write(w)
}

// owner is that of the notices of an account.
func owner(account string) string {
	if account == "" {
		return nebis.Anyone
	}
	return account
}

const maxKey = 255

// shaped makes a key of any identity.
func shaped(id string) string {
	plain := len(id) <= maxKey
	for i := 0; i < len(id) && plain; i++ {
		plain = id[i] > ' ' && id[i] <= '~'
	}
	if plain {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "sha256-" + hex.EncodeToString(sum[:])
}
