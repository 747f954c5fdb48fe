package shop

import (
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/nebis-dev/nebis/cmd/internal/dburl/dburltest"
)

const batchForm = `<form id="batch"`

var (
	batchLine = regexp.MustCompile(`<li class="(created|replayed|failed|not-run)">(?:<a href="/orders/([0-9]+)">)?`)
	batchSum  = regexp.MustCompile(`<b>(\d+)</b> created</span> · <span><b>(\d+)</b> replayed</span> · <span[^>]*><b>(\d+)</b> failed`)
)

// wantBatch checks the counts that the page shows against its rows, and returns what
// became of each row and the order that it is.
func wantBatch(t *testing.T, page string, want ...int) (statuses, orders []string) {
	t.Helper()
	n := map[string]int{}
	for _, m := range batchLine.FindAllStringSubmatch(page, -1) {
		statuses, orders = append(statuses, m[1]), append(orders, m[2])
		n[m[1]]++
	}
	sum := batchSum.FindStringSubmatch(page)
	if len(statuses) != 50 || sum == nil {
		t.Fatalf("%d rows, the sum %q: %s", len(statuses), sum, page)
	}
	for i, status := range []string{"created", "replayed", "failed"} {
		if n[status] != want[i] || sum[i+1] != strconv.Itoa(want[i]) {
			t.Errorf("%d %s, the page says %s, want %d", n[status], status, sum[i+1], want[i])
		}
	}
	return statuses, orders
}

func TestFiftyAtOnceSentAgainOrderOnlyWhatFailed(t *testing.T) {
	dburltest.Everywhere(t, func(t *testing.T, dbURL string) {
		c := visitor(t, openShop(t, dbURL))
		first := c.submit("/batch", formIn(t, c.get("/batch").body, batchForm)).want(t, 200, "").body
		statuses, made := wantBatch(t, first, 48, 0, 2)
		if statuses[6] != "failed" || statuses[19] != "failed" || c.list().Count != 48 {
			t.Errorf("%v; %d orders", statuses, c.list().Count)
		}
		again := formIn(t, first, batchForm)
		second := c.submit("/batch", again).body
		statuses, orders := wantBatch(t, second, 2, 48, 0)
		for i := range orders {
			if ran := i == 6 || i == 19; ran != (statuses[i] == "created") || !ran && orders[i] != made[i] {
				t.Errorf("row %d is %s, order %s, and was order %s", i+1, statuses[i], orders[i], made[i])
			}
		}
		wantBatch(t, c.submit("/batch", formIn(t, second, batchForm)).body, 0, 50, 0)
		if n := c.list().Count; n != 50 {
			t.Errorf("%d orders", n)
		}
	})
}

func TestFiftyAtOnceSentManyTimesAtOnceAreFifty(t *testing.T) {
	c := visitor(t, openShop(t, dburltest.SQLite(t)))
	fields := formIn(t, c.get("/batch").body, batchForm)
	fields.Del("first")
	atOnce(4, func(int) answer { return c.submit("/batch", fields).want(t, 200, "") })
	wantBatch(t, c.submit("/batch", fields).body, 0, 50, 0)
	other := formIn(t, c.get("/batch").body, batchForm)
	wantBatch(t, c.submit("/batch", other).body, 48, 0, 2)
	if n := c.list().Count; n != 98 {
		t.Errorf("%d orders", n)
	}
}

func TestABatchWithoutAKeyOrdersNothing(t *testing.T) {
	c := visitor(t, openShop(t, dburltest.SQLite(t)))
	for _, key := range []string{"", "undefined", "a b"} {
		c.submit("/batch", url.Values{"idempotency_key": {key}}).want(t, 400, "invalid")
	}
	if n := c.list().Count; n != 0 {
		t.Errorf("%d orders", n)
	}
}

// batchSays waits for the counts on the page.
func batchSays(sum string) step {
	return chromedp.Steps(until(fmt.Sprintf(`document.querySelector(".sum")?.innerText.includes(%q)`, sum)), painted)
}

func TestFiftyAtOnceInABrowser(t *testing.T) {
	v := visit(t, browser(t, "en"))
	v.do(open(v.base+"/batch"), click("#batch button"), batchSays("48 created · 0 replayed · 2 failed"),
		click("#batch button"), batchSays("2 created · 48 replayed · 0 failed"))
	v.wantOrders(50)
}
