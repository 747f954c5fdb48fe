package shop

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nebis-dev/nebis/cmd/internal/dburl/dburltest"
	"github.com/nebis-dev/nebis/outbox"
)

// lived is an order that was sent twice, paid by callbacks of which one is forged and
// one lost its answer, and that has got points for a coupon that was not to be had.
func lived(l till) record {
	l.t.Helper()
	o := l.buys()
	key := strings.ReplaceAll(l.t.Name(), "/", ".")
	l.order(key, `{"item":"tea","qty":2}`).want(l.t, http.StatusCreated, "replayed")
	l.pays(o, 0, "signature=wrong", "times=1")
	l.pays(o, 1, "coupon=never", "times=2", "drop=1")
	l.called(o, couponAdded, outbox.Compensated, 1, 0)
	l.cancels(o, "twice").want(l.t, http.StatusSeeOther, "created")
	l.called(o, refundAdded, outbox.Done, 3, 1)
	return o
}

// What the page tells, in this order, in both languages.
var wholeStory = map[string][]string{
	"en": {
		"The order: 2 × Green tea, 20 points.", "A request placed it.", "The same request again.",
		"Callback with a wrong signature. Refused", "401 fail",
		"Callback: the signature holds. Taken, and acknowledged. The line broke during the answer.", "200 success",
		"Paid. 24 points more.", "The call for the coupon was written down in the same transaction: number 1 in the outbox.",
		"Cancelled. The goods are back on the shelf, and 74 points were taken back.",
		"The call for the refund was written down", "Outside call for the refund, try 1: failed.", "500 Internal Server Error",
		"Outside call for the refund, try 3: answered.", "24.00 yuan were sent back.",
		"Outside call: the coupon", "failed for good, and compensated (compensated)", "requests: 1, done: 0",
		"Outside call: the refund", "made, and answered (done)", "requests: 3, done: 1",
	},
	"zh": {
		"下单：2 份绿茶，得 20 积分。", "一个请求下了这一单。", "同一个请求又来了",
		"回调的签名不对，已拒绝", "401 fail",
		"回调：验签通过，已处理并确认。响应传到一半断了线。", "200 success",
		"已付款，再加 24 积分。", "要优惠券的调用记在同一个事务里：发件箱第 1 号。",
		"已取消。商品放回货架，收回 74 积分。",
		"退款的调用记在同一个事务里", "对外调用（退款），第 1 次：失败。", "500 Internal Server Error",
		"对外调用（退款），第 3 次：有响应。", "已退回 24.00 元。",
		"对外调用：发优惠券", "彻底失败，已补偿 (compensated)", "收到 1 次，办了 0 次",
		"对外调用：退款", "已完成 (done)", "收到 3 次，办了 1 次",
	},
}

// besides has what happened beside the rest, at a time of its own.
var besides = map[string][]string{
	"en": {"The same callback again. Acknowledged as the first", "Outside call for the coupon, try 1: failed.", "No coupon, for good. Compensation: 30 points"},
	"zh": {"同一个回调又来了", "对外调用（发优惠券），第 1 次：失败。", "优惠券要不到了。补偿：改送 30 积分。"},
}

func TestThePageOfAnOrdersLifeTellsAllInBothLanguages(t *testing.T) {
	l := openTill(t, openShop(t, dburltest.SQLite(t)))
	l.works()
	o := lived(l)
	for lang, lines := range wholeStory {
		page := l.life(o, lang)
		rest := page
		for _, line := range lines {
			_, after, found := strings.Cut(rest, line)
			if !found {
				t.Fatalf("no %q, or not in its place, in %s", line, page)
			}
			rest = after
		}
		for _, line := range besides[lang] {
			if !strings.Contains(page, line) {
				t.Errorf("no %q in %s", line, page)
			}
		}
	}
}

// What is in the database is still told when the process has gone.
func TestAnotherProcessTellsWhatTheDatabaseHas(t *testing.T) {
	dburltest.Everywhere(t, func(t *testing.T, dbURL string) {
		l := openTill(t, openShop(t, dbURL))
		l.works()
		o := lived(l)
		later := openTill(t, openShop(t, dbURL))
		page := later.life(o, "en")
		for _, line := range []string{"The order: 2 × Green tea", "Paid. 24 points more.", "No coupon, for good.", "Cancelled.", "24.00 yuan were sent back.", "requests: 3, done: 1"} {
			if !strings.Contains(page, line) {
				t.Errorf("no %q in %s", line, page)
			}
		}
		if strings.Contains(page, "Callback") {
			t.Errorf("it tells of callbacks that it has not seen: %s", page)
		}
	})
}

// A database that the demo made before there were payments opens, and its orders can
// be paid.
func TestADatabaseFromBeforePaymentsOpens(t *testing.T) {
	dburltest.Everywhere(t, func(t *testing.T, dbURL string) {
		before := openTill(t, openShop(t, dbURL))
		o := before.buys()
		for _, table := range []string{"events", "coupons", "moods", "books", "outbox", "idempotency_failures"} {
			if _, err := before.shop.db.ExecContext(context.Background(), "DROP TABLE nebis_demo_"+table); err != nil {
				t.Fatal(err)
			}
		}
		l := openTill(t, openShop(t, dbURL))
		l.cookie = before.cookie
		l.works()
		l.pays(o, 3)
		l.called(o, couponAdded, outbox.Done, 1, 1)
		l.is(o, paid, teaPoints+teaBonus)
	})
}

func TestOnlyWhatThePageOffersIsTaken(t *testing.T) {
	l := openTill(t, openShop(t, dburltest.SQLite(t)))
	o := l.buys()
	for _, fields := range []string{"", "times=0&gap=0&drop=0&coupon=works", "times=11&gap=0&drop=0&coupon=works", "times=1&gap=x&drop=0&coupon=works", "times=1&gap=0&drop=0&coupon=gold"} {
		a := l.do("POST", fmt.Sprintf("/provider/%d", o.ID), "application/x-www-form-urlencoded", fields, "")
		if a.status != http.StatusBadRequest {
			t.Errorf("%q: %d", fields, a.status)
		}
	}
	for _, path := range []string{"/provider/99", "/provider/x"} {
		a := l.do("POST", path, "application/x-www-form-urlencoded", "times=1&gap=0&drop=0&coupon=works", "")
		if a.status != http.StatusNotFound {
			t.Errorf("%s: %d", path, a.status)
		}
	}
	l.is(o, accepted, teaPoints)
}

// Equal moments at one time have one time, and those that took a while have two.
func TestEqualMomentsShowEachTimeOnce(t *testing.T) {
	l := openTill(t, openShop(t, dburltest.SQLite(t)))
	o := l.buys()
	for range 2 {
		l.shop.tally.note(o.ID, note{At: o.Made.Add(time.Minute), What: "callback", Outcome: "busy", N: 503})
	}
	if page := l.life(o, "en"); !strings.Contains(page, "× 2") || strings.Contains(page, "</time> – ") {
		t.Error(page)
	}
	l.shop.tally.note(o.ID, note{At: o.Made.Add(2 * time.Minute), What: "callback", Outcome: "busy", N: 503})
	if page := l.life(o, "en"); !strings.Contains(page, "× 3") || !strings.Contains(page, "</time> – ") {
		t.Error(page)
	}
	for lang, line := range map[string]string{"en": "no trace in the key table", "zh": "在幂等表里不留痕迹"} {
		if page := l.life(o, lang); !strings.Contains(page, line) {
			t.Errorf("no %q in %s", line, page)
		}
	}
}
