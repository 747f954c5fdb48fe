package shop

import (
	"context"
	"database/sql"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/jellydator/ttlcache/v3"

	"github.com/nebis-dev/nebis/callback"
	"github.com/nebis-dev/nebis/nebishttp"
)

// What needs no key: a mistake of one in a count that is only looked at, and an
// update that says itself when it no longer applies.

// A once counts visitors, each once in a while. It is in memory, forgets when the
// process ends, and is right enough for likes and views.
type once struct {
	seen *ttlcache.Cache[string, bool]
	n    atomic.Int64
}

// onceVisitors bounds the memory: of more, the oldest are forgotten.
const onceVisitors = 100_000

func newOnce(again time.Duration) *once {
	return &once{seen: ttlcache.New(
		ttlcache.WithTTL[string, bool](again),
		ttlcache.WithCapacity[string, bool](onceVisitors),
		ttlcache.WithDisableTouchOnHit[string, bool](),
	)}
}

// add counts a visitor and tells whether it is the first time.
func (o *once) add(visitor string) bool {
	_, known := o.seen.GetOrSet(visitor, true)
	if !known {
		o.n.Add(1)
	}
	return !known
}

// free is the page of what needs no key.
type free struct{ Likes, Views int }

func (s *Shop) freePage(w http.ResponseWriter, r *http.Request) error {
	s.views.add(visitorOf(r))
	v := s.view(r, say(langOf(r), "free_title"))
	v.Nav, v.Data = "free", free{int(s.likes.n.Load()), int(s.views.n.Load())}
	s.render(w, http.StatusOK, "free", v)
	return nil
}

func (s *Shop) like(w http.ResponseWriter, r *http.Request) {
	s.likes.add(visitorOf(r))
	nebishttp.SeeOther(w, r, "/free")
}

// pickUp marks an order as picked up. Sent twice, the second finds nothing to do:
// the WHERE is all the protection that it needs.
func (s *Shop) pickUp(w http.ResponseWriter, r *http.Request) {
	id, _ := strconv.ParseInt(r.PathValue("id"), 10, 64)
	err := s.store.Tx(r.Context(), func(ctx context.Context, tx *sql.Tx) error {
		moved, err := callback.Moved(tx.ExecContext(ctx,
			s.sql.q(`UPDATE nebis_demo_orders SET status = 'picked-up' WHERE id = ? AND visitor = ? AND status IN ('accepted', 'paid')`), id, visitorOf(r)))
		if err != nil || !moved {
			return err
		}
		return s.record(ctx, tx, id, pickedUp, 0)
	})
	if err != nil {
		s.failed(w, r, err)
		return
	}
	nebishttp.SeeOther(w, r, "/orders/"+strconv.FormatInt(id, 10))
}
