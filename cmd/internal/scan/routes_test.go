package scan_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nebis-dev/nebis/cmd/internal/report"
	"github.com/nebis-dev/nebis/cmd/internal/scan"
)

func TestEveryFigureOfARoute(t *testing.T) {
	r := run(t, styles[1].text(
		post(0, status(499)), post(0), post(4, status(200)),
		post(100, to("/pay/12345")), post(160, to("/pay/12345")), post(100, to("/pay/777"))), &scan.Options{Within: time.Minute})
	orders, pay := route(t, r, "POST /orders"), route(t, r, "POST /pay/{id}")
	if orders.Writes != 3 || orders.Repeated != 2 || orders.Groups != 1 || orders.Gaps != [6]int{1, 1} || orders.Hours[12] != 2 {
		t.Errorf("orders: %+v", orders)
	}
	if fmt.Sprint(orders.Statuses) != "[{302 200 1} {499 302 1}]" {
		t.Errorf("statuses: %v", orders.Statuses)
	}
	if pay.Writes != 3 || pay.Repeated != 1 || pay.Gaps != [6]int{0, 0, 1} {
		t.Errorf("pay: %+v", pay)
	}
	if fmt.Sprint(r.Protect) != `[--protect 'POST /orders' --protect 'POST /pay/{id}']` {
		t.Errorf("protect: %q", r.Protect)
	}
}

func TestTheNewestGroupsAreListed(t *testing.T) {
	var requests []request
	for i := range 25 {
		requests = append(requests, post(float64(i*100)), post(float64(i*100)))
	}
	for i := range 12 {
		requests = append(requests, post(float64(5000+i), status(300+i)))
	}
	r := run(t, styles[1].text(requests...), nil)
	if len(r.Newest) != 20 || r.Groups != 26 || !r.Newest[1].First.Equal(noon.Add(2400*time.Second)) || !r.Newest[19].First.Equal(noon.Add(600*time.Second)) {
		t.Errorf("%d of %d groups, the second %v, the last %v", len(r.Newest), r.Groups, r.Newest[1].First, r.Newest[19].First)
	}
	if g := r.Newest[0]; g.Writes != 12 || len(g.Gaps) != 8 || fmt.Sprint(g.Statuses) != "[300 301 302 303 304 305 306 307 308]" {
		t.Errorf("the newest: %+v", g)
	}
}

// The page has the routes with repeats, and a few of the others.
func TestThePageListsRoutes(t *testing.T) {
	for repeated, rows := range map[int]int{0: 10, 3: 10, 15: 15, 25: 20, 30: 20} {
		var requests []request
		for i := range 30 {
			one := post(float64(i), to("/r"+string(rune('a'+i))))
			if requests = append(requests, one); i < repeated {
				requests = append(requests, one)
			}
		}
		s := run(t, styles[1].text(requests...), nil).Page(report.English).Sections[0]
		if len(s.Table.Rows) != rows || !strings.Contains(s.Note, fmt.Sprintf("The first %d of 30", rows)) {
			t.Errorf("%d repeated: %d rows, %q", repeated, len(s.Table.Rows), s.Note)
		}
	}
}

func TestALongerWindowIsAdvisedForCallbacks(t *testing.T) {
	for path, window := range map[string]time.Duration{"/pay/notify": 59 * time.Second, "/orders": 0, "/webhook": time.Minute} {
		r := run(t, styles[1].text(post(0, to(path))), &scan.Options{Within: window})
		if got := strings.Contains(fmt.Sprint(r.Page(report.English).Limits), "--within 1h"); got != (path == "/pay/notify") {
			t.Errorf("%s within %s: advised %v", path, window, got)
		}
	}
}

func TestWhatIsNotWorthProtecting(t *testing.T) {
	var poll []request
	for i := range 100 {
		poll = append(poll, post(float64(i*3), to("/cart/refresh")))
	}
	var pairs []request
	for i := range 100 {
		pairs = append(pairs, post(float64(i*100)), post(float64(i*100+1)), post(float64(i*100+2)))
	}
	for _, c := range []struct {
		name     string
		requests []request
		worth    scan.Worth
	}{
		{"an order", []request{post(0), post(1)}, scan.Protect},
		{"an order once", []request{post(0)}, scan.Quiet},
		{"a login", []request{post(0, to("/login")), post(1, to("/login"))}, scan.Harmless},
		{"WordPress's login", []request{post(0, to("/wp-login.php")), post(1, to("/wp-login.php"))}, scan.Harmless},
		{"a poll", poll, scan.Steady},
		{"an error instead of a refusal", []request{post(0, status(404)), post(1, status(500))}, scan.Protect},
		{"nobody waited for the refusal", []request{post(0, status(404)), post(1, status(499))}, scan.Protect},
		{"often, but in pairs", pairs, scan.Protect},
		{"half of a few", poll[:40], scan.Protect},
		{"what the site refused", []request{post(0, status(404)), post(1, status(404))}, scan.Refused},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := run(t, styles[1].text(c.requests...), nil)
			if got := r.Routes[0].Worth; got != c.worth || (len(r.Protect) > 0) != (c.worth == scan.Protect) {
				t.Errorf("%s, %v; want %s", got, r.Protect, c.worth)
			}
		})
	}
}

// One clock for the whole report: that of --tz.
func TestTheHoursAreThoseOfTheReport(t *testing.T) {
	shanghai, err := time.LoadLocation("Asia/Shanghai")
	if err != nil {
		t.Fatal(err)
	}
	for zone, hour := range map[*time.Location]int{nil: 12, time.UTC: 12, shanghai: 20} {
		r := run(t, styles[1].text(post(0), post(1)), &scan.Options{Location: zone})
		if r.Hours[hour] != 1 || r.Routes[0].Hours[hour] != 1 || hour == 20 && r.From.Hour() != 20 {
			t.Errorf("%v: %v, %v, from %s", zone, r.Hours, r.Routes[0].Hours, r.From)
		}
	}
}
