package gateway

import "testing"

// The answer has gone, and the site is not asked again.
func TestALateSenderIsToldThatItIsDone(t *testing.T) {
	p := protect(t, "forms: [GET /checkout*]\n"+route+"  keep: 1ms\n  keep_seen: 90d\n", ordered)
	send := func() reply {
		return p.send("POST", "/checkout", "idempotency_key=k&item=tea", formType)
	}
	p.want(send(), 303, "created")
	got := send()
	for got.StatusCode == 303 && p.runs.Load() == 1 { // a replay: it has not expired yet
		got = send()
	}
	p.want(got, 410, "not-kept")
	p.wantRuns(1)
}
