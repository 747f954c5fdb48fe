package callbacktests

import (
	"testing"
	"time"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/callback/callbacktest"
)

// Where the Store remembers keys for longer than their answers, a delivery that comes
// late is acknowledged, and so is another one of the same payment: nothing runs again.
func TestALateDeliveryIsAcknowledged(t *testing.T) {
	one(t, "wechatpay", func(t *testing.T, s *shop) {
		var err error
		if s.store, err = nebis.New(s.db, s.c.Dialect, &nebis.Options{KeepSeen: 90 * 24 * time.Hour}); err != nil {
			t.Fatal(err)
		}
		s.serve()
		s.want(callbacktest.Notice{}, s.acknowledged())
		for range 2 {
			if _, err := s.db.ExecContext(t.Context(), `UPDATE idempotency SET expires_at = created_at WHERE expires_at < lease_until`); err != nil {
				t.Fatal(err)
			}
			s.want(callbacktest.Notice{}, s.acknowledged())
			s.want(callbacktest.Notice{Delivery: "another"}, s.acknowledged())
			s.order("paid 88 0")
			if _, err := s.store.Sweep(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
		}
		if n := s.runs.Load(); n != 2 { // one of each delivery
			t.Errorf("%d runs", n)
		}
	})
}
