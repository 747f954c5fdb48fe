package callbacktests

import (
	"bytes"
	"context"
	"database/sql"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nebis-dev/nebis/callback"
	"github.com/nebis-dev/nebis/callback/callbacktest"
)

// Longer than any schedule, and than the 30 days for which Stripe sends again by hand.
func TestADeliveryAndItsBusinessAreKeptFor35Days(t *testing.T) {
	one(t, "wechatpay", func(t *testing.T, s *shop) {
		s.want(callbacktest.Notice{}, s.acknowledged())
		e, err := s.event(callbacktest.Notice{})
		if err != nil {
			t.Fatal(err)
		}
		for scope, key := range map[string]string{"wechatpay": e.Delivery, "points": e.Business()} {
			entry, err := s.store.Look(t.Context(), scope, e.Account, key)
			if err != nil || entry == nil {
				t.Errorf("%s: %v %v", scope, entry, err)
				continue
			}
			if keep := entry.ExpiresAt.Sub(entry.CreatedAt).Round(time.Minute); keep != 35*24*time.Hour {
				t.Errorf("%s: kept for %v", scope, keep)
			}
		}
	})
}

// Two shops may be notified at one address: what one of them was told does not count as
// told to the other.
func TestTwoAccountsWithOneIdentity(t *testing.T) {
	one(t, "own", func(t *testing.T, s *shop) {
		s.sender.Provider.Read = func(r *http.Request, _ []byte) (callback.Event, error) {
			return callback.Event{Account: r.Header.Get("Account"), Delivery: "7", Payment: "P7", State: callback.Paid}, nil
		}
		s.serveAs(func(ctx context.Context, tx *sql.Tx, e callback.Event) error {
			_, err := callback.Once(ctx, s.store, tx, "points", e, func(ctx context.Context) error { return s.add(ctx, tx, "1001") })
			return err
		})
		for _, account := range []string{"a", "b", "", "a", "b", ""} {
			r, err := s.sender.Request(s.url, callbacktest.Notice{})
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Account", account)
			s.got(s.do(r), s.acknowledged())
		}
		s.points(3)
	})
}

// What is refused is in the log, with the reason. What was sent is not, nor what would
// let somebody sign.
func TestTheLogHasNoSecretAndNoBody(t *testing.T) {
	everywhere(t, func(t *testing.T, s *shop) {
		forger, err := senders[s.name].make(callbacktest.Keys{})
		if err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		s.o.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		s.before = func(callback.Event) error { return errShop }
		s.serve()
		r, err := forger.Request(s.url, callbacktest.Notice{Payment: "P-in-the-body"})
		if err != nil {
			t.Fatal(err)
		}
		sent := r.Header.Get("Wechatpay-Signature") + r.Header.Get("Stripe-Signature") + r.Header.Get("Webhook-Signature") + r.Header.Get("Own-Signature")
		s.got(s.do(r), s.refused(401))
		s.want(callbacktest.Notice{Payment: "P-in-the-body"}, s.refused(500))
		text := log.String()
		for name, secret := range map[string]string{
			"its secret": s.sender.Keys.Secret, "the forger's secret": forger.Keys.Secret, "the body": "P-in-the-body", "the signature": sent,
		} {
			if secret != "" && strings.Contains(text, secret) {
				t.Errorf("%s is in the log: %s", name, text)
			}
		}
		if strings.Count(text, "not acknowledged") != 2 || !strings.Contains(text, errShop.Error()) {
			t.Errorf("the log: %s", text)
		}
	})
}
