package outbox

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/nebis-dev/nebis"
)

func TestNothingBeginsWhenTheClaimTookLongerThanTheLease(t *testing.T) {
	o := &Outbox{o: Options{Lease: time.Second}, calls: map[string]Call{}}
	o.Handle("call", Call{})
	w := &worker{o: o, ctx: context.Background()}
	tenure := w.newTenure(&Job{Name: "call", State: Running}, "token", time.Now().Add(-time.Second))
	defer tenure.close()
	err := tenure.do(func(context.Context) error {
		t.Error("the call is made")
		return nil
	})
	if !errors.Is(err, nebis.ErrLost) {
		t.Errorf("error %v", err)
	}
}

func TestOptionsHaveBounds(t *testing.T) {
	for _, o := range []Options{
		{Lease: time.Second - 1}, {Lease: -1}, {Poll: -1}, {Parallel: -1}, {Keep: -1}, {MaxPayload: -1}, {MaxPayload: mostPayload + 1},
	} {
		if _, err := New(new(sql.DB), nebis.MySQL, &o); err == nil {
			t.Errorf("takes %+v", o)
		}
	}
	if _, err := New(new(sql.DB), nebis.MySQL, &Options{Lease: time.Second, MaxPayload: mostPayload}); err != nil {
		t.Error(err)
	}
}
