package recipes

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/callback"
)

// notices of order 7, each under the same name for every provider that has it.
func notices(t *testing.T) map[string]map[string]recipe {
	t.Helper()
	payPal := payPalSigner(t)
	capture := func(id, kind, resource string) recipe {
		return payPal(fmt.Sprintf(`{"id":%q,"event_type":"PAYMENT.CAPTURE.%s","resource":{"id":%q,"invoice_id":"7"}}`, id, kind, resource))
	}
	merged := func(delivery, action string, merged bool) recipe {
		return gitHub(delivery, "pull_request", fmt.Sprintf(`{"action":%q,"number":7,"pull_request":{"merged":%v}}`, action, merged))
	}
	return map[string]map[string]recipe{
		"github": { // points for what is merged; there is no refund
			"pending": merged("d1", "opened", false), "failed": merged("d2", "closed", false),
			"paid": merged("d3", "closed", true), "another": merged("d4", "closed", true), // from a second hook
		},
		"paypal": {
			"pending": capture("WH-1", "PENDING", "CAP-7"), "failed": capture("WH-2", "DENIED", "CAP-7"),
			"paid": capture("WH-3", "COMPLETED", "CAP-7"), "another": capture("WH-4", "COMPLETED", "CAP-7"),
			"refund 1": capture("WH-5", "REFUNDED", "REF-1"), "refund 2": capture("WH-6", "REFUNDED", "REF-2"), "refund 1 again": capture("WH-7", "REFUNDED", "REF-1"),
		},
		"shopify": {
			"pending": shopify("e1", "orders/create", `{"id":7}`), "failed": shopify("e2", "orders/updated", `{"id":7}`),
			"paid": shopify("e3", "orders/paid", `{"id":7}`), "another": shopify("e4", "orders/paid", `{"id":7}`),
			"refund 1": shopify("e5", "refunds/create", `{"id":71,"order_id":7}`), "refund 2": shopify("e6", "refunds/create", `{"id":72,"order_id":7}`),
			"refund 1 again": shopify("e7", "refunds/create", `{"id":71,"order_id":7}`),
		},
		"wechatpay-v2": {
			"failed": paymentV2("FAIL"), "paid": paymentV2("SUCCESS"),
			"refund 1": refundV2(t, "R1", "SUCCESS"), "refund 2": refundV2(t, "R2", "SUCCESS"), "refund failed": refundV2(t, "R2", "CHANGE"),
		},
	}
}

func paymentV2(result string) recipe {
	return weChatV2(signedXML(map[string]string{
		"return_code": "SUCCESS", "result_code": result, "mch_id": merchant, "transaction_id": "T7", "out_trade_no": "7", "total_fee": "8800",
	}))
}

func refundV2(t *testing.T, id, status string) recipe {
	t.Helper()
	info := toXML("root", map[string]string{
		"refund_id": id, "refund_status": status, "out_trade_no": "7", "transaction_id": "T7", "total_fee": "8800", "settlement_refund_fee": "800",
	})
	return weChatV2(toXML("xml", map[string]string{"return_code": "SUCCESS", "mch_id": merchant, "req_info": sealed(t, secret, info)}))
}

// ofPullRequest reads what GitHub tells, in the words of a payment.
func ofPullRequest(e callback.Event) (callback.Event, error) {
	var n struct {
		Action string
		Number int
		Pull   struct{ Merged bool } `json:"pull_request"`
	}
	err := json.Unmarshal(e.Body, &n)
	e.Payment = fmt.Sprint("pull ", n.Number)
	switch {
	case n.Pull.Merged:
		e.State = callback.Paid
	case n.Action == "closed":
		e.State = callback.Closed
	}
	return e, err
}

// completes is a shop's code, with all three layers. Shopify tells of a refund by its
// topic.
func completes(ctx context.Context, s *nebis.Store, tx *sql.Tx, e callback.Event) error {
	if e.Status == "pull_request" {
		var err error
		if e, err = ofPullRequest(e); err != nil {
			return err
		}
	}
	do := func(statement string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := callback.Moved(tx.ExecContext(ctx, statement))
			return err
		}
	}
	var err error
	switch {
	case e.State == callback.Paid:
		_, err = callback.Once(ctx, s, tx, "points", e, do(`UPDATE orders SET status = 'paid', points = points + 88 WHERE status = 'pending'`))
	case e.State == callback.Refunded, e.Status == "refunds/create":
		_, err = callback.Once(ctx, s, tx, "refund", e, do(`UPDATE orders SET refunds = refunds + 1`))
	case e.State == callback.Closed:
		err = do(`UPDATE orders SET status = 'closed' WHERE status = 'pending'`)(ctx)
	}
	return err
}

// Each notice comes three times at once and once more, and is acknowledged each time; a
// name that a provider does not have is left out.
func TestNoticesOfOneOrderInAnyOrder(t *testing.T) {
	for provider, all := range notices(t) {
		for sequence, want := range map[string]string{
			"pending, paid, another, refund 1, refund 2, refund 1 again": "paid 88 2",
			"another, paid, failed, pending, refund failed":              "paid 88 0",
			"refund failed, refund 2, refund 1 again, refund 1, paid":    "paid 88 2",
		} {
			t.Run(provider+" "+sequence, func(t *testing.T) {
				t.Parallel()
				url, db := site(t, all["paid"].p, completes)
				for _, name := range strings.Split(sequence, ", ") {
					if r, has := all[name]; has {
						var all sync.WaitGroup
						for range 3 {
							all.Go(func() { r.wants(t, url, r.acknowledged) })
						}
						all.Wait()
						r.wants(t, url, r.acknowledged)
					}
				}
				if _, refunds := all["refund 1"]; !refunds {
					want = "paid 88 0"
				}
				wantOrder(t, db, want)
			})
		}
	}
}

// A payment that fails first is not taken for the one that succeeds after it.
func TestAPaymentThatFailsFirst(t *testing.T) {
	everybody := notices(t)
	for provider, want := range map[string]string{"github": "closed 0 0", "paypal": "closed 0 0", "shopify": "paid 88 0", "wechatpay-v2": "paid 88 0"} {
		all := everybody[provider]
		url, db := site(t, all["paid"].p, completes)
		for _, name := range []string{"failed", "paid", "failed"} {
			all[name].wants(t, url, all[name].acknowledged)
		}
		wantOrder(t, db, want)
	}
}

func wantOrder(t *testing.T, db *sql.DB, want string) {
	t.Helper()
	var status string
	var points, refunds int
	err := db.QueryRowContext(t.Context(), `SELECT status, points, refunds FROM orders`).Scan(&status, &points, &refunds)
	if got := fmt.Sprint(status, " ", points, " ", refunds); err != nil || got != want {
		t.Errorf("the order is %q (%v), want %q", got, err, want)
	}
}
