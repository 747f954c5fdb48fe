package shop

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"time"
)

// The simulated services: coupons and refunds of somebody else's, with books of their
// own. They do what they are asked once for each key, and can be told to behave badly.

// The moods of a service, for one order.
var moods = []string{"works", "twice", "never", "lost", "slow"}

// slowness is how long a slow service takes before it acts, and again before it answers.
const slowness = 2 * time.Second

func (s *Shop) services() http.Handler {
	mux := http.NewServeMux()
	for _, service := range callOf {
		mux.HandleFunc("POST /"+service, s.serviceFor(service))
	}
	return mux
}

func (s *Shop) serviceFor(service string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var e errand
		key := r.Header.Get("Idempotency-Key")
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&e); err != nil || key == "" {
			http.Error(w, "want an order and a key", http.StatusBadRequest)
			return
		}
		mood, nth, err := s.asked(r.Context(), service, key, e.Order)
		switch {
		case err != nil || mood == "twice" && nth <= 2:
			http.Error(w, "on purpose", http.StatusInternalServerError)
			return
		case mood == "never":
			http.Error(w, "never", http.StatusUnprocessableEntity)
			return
		}
		if err := s.act(r.Context(), mood, key); err != nil {
			http.Error(w, "not now", http.StatusInternalServerError)
			return
		}
		if mood == "lost" && nth == 1 {
			panic(http.ErrAbortHandler)
		}
		sum := sha256.Sum256([]byte(key))
		writeJSON(w, http.StatusOK, map[string]string{service: hex.EncodeToString(sum[:4])})
	}
}

// asked writes a request into the service's books, and returns how the service feels
// about the order and how many requests with this key there were, this one included.
func (s *Shop) asked(ctx context.Context, service, key string, order int64) (mood string, nth int, err error) {
	err = s.store.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, s.sql.q(s.sql.addAsked), key, service, order, time.Now().UnixMilli()); err != nil {
			return err
		}
		err := tx.QueryRowContext(ctx, s.sql.q(`SELECT requests FROM nebis_demo_books WHERE idem_key = ?`), key).Scan(&nth)
		if err != nil {
			return err
		}
		return tx.QueryRowContext(ctx, s.sql.q(`SELECT COALESCE(MAX(mood), 'works') FROM nebis_demo_moods WHERE order_id = ? AND service = ?`), order, service).Scan(&mood)
	})
	return mood, nth, err
}

// act does what the service is for, once for each key. Here it is an entry in its books.
func (s *Shop) act(ctx context.Context, mood, key string) error {
	slow := time.Duration(0)
	if mood == "slow" {
		slow = slowness
	}
	if err := pause(ctx, slow); err != nil {
		return err
	}
	err := s.store.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, s.sql.q(`UPDATE nebis_demo_books SET done = 1 WHERE idem_key = ?`), key)
		return err
	})
	if err != nil {
		return err
	}
	return pause(ctx, slow)
}

// tellService tells a service how to behave with an order.
func (s *Shop) tellService(ctx context.Context, tx *sql.Tx, order int64, service, mood string) error {
	_, err := tx.ExecContext(ctx, s.sql.q(s.sql.setMood), order, service, mood)
	return err
}

// booked reads what a service's books say of a key.
func (s *Shop) booked(ctx context.Context, key string) (requests, done int, err error) {
	err = s.db.QueryRowContext(ctx, s.sql.q(`SELECT COALESCE(SUM(requests), 0), COALESCE(SUM(done), 0) FROM nebis_demo_books WHERE idem_key = ?`), key).Scan(&requests, &done)
	return requests, done, err
}
