package shop

import (
	"context"
	"net/http"

	"github.com/alexedwards/scs/v2"
)

// A notice is told once, on the next page that shows notices. It comes from the
// session library, as in any site; what Nebis asks for is only that the session
// has begun before the form is sent, because the Set-Cookie of a write is lost
// when the browser drops the first of two answers.
type notice struct {
	Text  string // a key of texts
	Order int64  // the order that it speaks of, if any
}

// The values of a session.
const (
	begun     = "begun"
	saysText  = "notice"
	saysOrder = "order"
)

func newSessions() *scs.SessionManager {
	m := scs.New()
	m.Cookie.Name = "shop_session"
	m.Cookie.SameSite = http.SameSiteLaxMode
	return m
}

// inSession loads the session of each request. Saving it is left to those who
// change it: a duplicate that only waited must not save what it loaded before.
func (s *Shop) inSession(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var token string
		if c, err := r.Cookie(s.sessions.Cookie.Name); err == nil {
			token = c.Value
		}
		ctx, err := s.sessions.Load(r.Context(), token)
		if err != nil {
			s.failed(w, r, err)
			return
		}
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// greet begins the session of a visitor who has none, on any page: one that sets
// a cookie and is no-store is not in the browser's memory when it goes back.
func (s *Shop) greet(w http.ResponseWriter, r *http.Request) {
	if s.sessions.Token(r.Context()) != "" {
		return
	}
	s.sessions.Put(r.Context(), begun, true)
	if token, expiry, err := s.sessions.Commit(r.Context()); err == nil {
		s.sessions.WriteSessionCookie(r.Context(), w, token, expiry)
	}
}

// tell leaves a notice for the visitor's next page, and saves it at once: the
// first answer may reach nobody, and the duplicate's is sent as soon as the
// transaction has ended.
func (s *Shop) tell(ctx context.Context, n notice) {
	if s.sessions.Token(ctx) == "" {
		return
	}
	s.sessions.Put(ctx, saysText, n.Text)
	s.sessions.Put(ctx, saysOrder, n.Order)
	if _, _, err := s.sessions.Commit(ctx); err != nil {
		s.log.Error("session", "err", err)
	}
}

// told takes the notice out, for a page that shows it: not for the live page's own
// refreshing, which would use it up unseen. Of an order whose
// transaction was rolled back after all there is nothing to tell.
func (s *Shop) told(r *http.Request) *notice {
	if r.Method != http.MethodGet || r.Header.Get("Live") != "" {
		return nil
	}
	ctx := r.Context()
	n := notice{s.sessions.PopString(ctx, saysText), s.sessions.GetInt64(ctx, saysOrder)}
	if n.Text == "" {
		return nil
	}
	if _, _, err := s.sessions.Commit(ctx); err != nil {
		s.log.Error("session", "err", err)
	}
	if n.Order != 0 {
		if _, err := s.find(ctx, n.Order); err != nil {
			return nil
		}
	}
	return &n
}
