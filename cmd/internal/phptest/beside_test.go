package phptest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/nebis-dev/nebis"
)

// order is what page.php answers.
type order struct {
	ID   int    `json:"id"`
	Item string `json:"item"`
}

// do sends an order to the program in Go.
func (s *site) do(owner, key, item string) (order, bool, error) {
	op := nebis.Op{Scope: "order", Owner: owner, Key: key, Fingerprint: nebis.Digest(map[string]string{"item": item})}
	return nebis.Do(s.t.Context(), s.store, op, func(ctx context.Context, tx *sql.Tx) (o order, err error) {
		insert := `INSERT INTO orders (owner, item, qty) VALUES ('ann', '` + item + `', 1)`
		if _, err := tx.ExecContext(ctx, insert); err != nil {
			return o, err
		}
		o.Item = item
		return o, tx.QueryRowContext(ctx, `SELECT MAX(id) FROM orders`).Scan(&o.ID)
	})
}

// Owners as they are stored in four ways.
var owners = map[string]string{
	"anyone": nebis.Anyone, "plain": `ann-7'\`, "like-anyone": "*", "like-a-digest": "sha256:0", "not-ASCII": "Анна Ω",
}

func testEachOther(t *testing.T, s *site) {
	var all []string
	for key, owner := range owners {
		first := s.id(s.send(key, "tea", "owner", owner))
		o, replayed, err := s.do(owner, key, "tea")
		if err != nil || !replayed || o != (order{first, "tea"}) {
			t.Errorf("PHP's order %d for %q is %+v in Go, replayed: %v, %v", first, owner, o, replayed, err)
		}
		if _, _, err := s.do(owner, key, "coffee"); !errors.Is(err, nebis.ErrMismatch) {
			t.Errorf("something else with PHP's key, in Go: %v", err)
		}
		o, _, err = s.do(owner, key+`'\2`, "milk")
		s.must(err)
		s.same([]int{o.ID, s.id(s.send(key+`'\2`, "milk", "owner", owner))})
		s.is(s.send(key+`'\2`, "coffee", "owner", owner), http.StatusUnprocessableEntity, "something else")
		all = append(all, "tea", "milk")
	}
	got := s.orders()
	slices.Sort(got)
	slices.Sort(all)
	if !slices.Equal(got, all) {
		t.Errorf("the orders are %q, want %q", got, all)
	}
}

func testTogether(t *testing.T, s *site) {
	for _, expired := range []bool{false, true} {
		if expired {
			s.exec(`UPDATE idempotency SET expires_at = created_at`)
		}
		inGo := make(chan []int)
		go func() {
			inGo <- atOnce(8, func() int {
				o, _, err := s.do("ann", "k", "tea")
				if err != nil {
					t.Error(err)
				}
				return o.ID
			})
		}()
		s.same(append(atOnce(8, func() int { return s.id(s.send("k", "tea")) }), <-inGo...))
	}
	s.want("tea", "tea")
}

func testRemembered(t *testing.T, s *site) {
	s.id(s.send("k", "tea"))
	s.exec(`UPDATE idempotency SET expires_at = created_at, lease_until = '2101-01-01 00:00:00'`)
	s.is(s.send("k", "tea"), http.StatusGone, "not kept")
	if n, err := s.store.Purge(t.Context(), 10); n != 1 || err != nil {
		t.Errorf("%d rows purged, %v", n, err)
	}
	s.is(s.send("k", "tea"), http.StatusGone, "not kept")
	s.exec(`UPDATE idempotency SET expires_at = created_at, lease_until = created_at`)
	s.id(s.send("k", "tea"))
	s.want("tea", "tea")
}

// testTools: what `nebis show`, `check` and `purge` are made of.
func testTools(t *testing.T, s *site) {
	s.id(s.send("k", "茶"))
	e, err := s.store.Look(t.Context(), "order", "ann", "k")
	s.must(err)
	if e == nil || e.State != nebis.StateDone || e.Attempts != 1 || e.ExpiresAt.Sub(e.CreatedAt).Round(time.Second) != 24*time.Hour {
		t.Fatalf("the entry is %+v", e)
	}
	var o order
	s.must(s.db.QueryRowContext(t.Context(), `SELECT MAX(id), MAX(item) FROM orders`).Scan(&o.ID, &o.Item))
	if want := fmt.Sprintf(`{"id":%d,"item":"茶"}`, o.ID); string(e.Response) != want {
		t.Errorf("the answer is kept as %s, want %s", e.Response, want)
	}
	found, err := s.store.Check(t.Context())
	s.must(err)
	for _, f := range found {
		if f.Level == nebis.Problem {
			t.Errorf("check: %v", f)
		}
	}
	s.exec(`UPDATE idempotency SET expires_at = created_at`)
	if n, err := s.store.Purge(t.Context(), 10); n != 1 || err != nil {
		t.Errorf("%d rows purged, %v", n, err)
	}
}
