package callbacktests

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/callback"
	"github.com/nebis-dev/nebis/callback/callbacktest"
)

func readAll(r *http.Request) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	return io.ReadAll(r.Body)
}

// What fails is not acknowledged, leaves the key free and is noted.
func TestAFailureIsSentAgain(t *testing.T) {
	everywhere(t, func(t *testing.T, s *shop) {
		s.before = func(callback.Event) error {
			switch s.runs.Load() {
			case 1:
				return errShop
			case 2:
				panic("out of paper")
			case 3: // of another operation; of the delivery itself it would say that it was done
				return fmt.Errorf("the points: %w", nebis.ErrNotKept)
			}
			return nil
		}
		for i, want := range []string{errShop.Error(), "panic: out of paper", "the points: " + nebis.ErrNotKept.Error()} {
			s.want(callbacktest.Notice{}, s.refused(500))
			s.order("pending 0 0")
			s.rows(0)
			all := s.failures()
			if len(all) != 1 || all[0].Attempts != i+1 || all[0].Error != want || !all[0].Done.IsZero() || all[0].Last.Before(all[0].First) {
				t.Errorf("after %d failures: %+v", i+1, all)
			}
		}
		s.want(callbacktest.Notice{}, s.acknowledged())
		s.order("paid 88 0")
		all := s.failures()
		if len(all) != 1 || all[0].Attempts != 3 || all[0].Done.IsZero() || all[0].Provider != s.sender.Provider.Name || all[0].Delivery == "" {
			t.Errorf("%+v", all)
		}
	})
}

// A function that ends its transaction by hand has failed, though it says nothing.
func TestAFunctionThatRollsBackByHand(t *testing.T) {
	one(t, "alipay", func(t *testing.T, s *shop) {
		s.serveAs(func(ctx context.Context, tx *sql.Tx, _ callback.Event) error {
			s.runs.Add(1)
			_, err := tx.ExecContext(ctx, `ROLLBACK`)
			return err
		})
		s.want(callbacktest.Notice{}, s.refused(500))
		s.ran(1)
		s.rows(0)
		if all := s.failures(); len(all) != 1 || all[0].Attempts != 1 || all[0].Error == "" {
			t.Errorf("%+v", all)
		}
	})
}

// Without the table nothing is lost but the note.
func TestFailuresWithoutTheirTable(t *testing.T) {
	one(t, "alipay", func(t *testing.T, s *shop) {
		if _, err := s.db.ExecContext(t.Context(), `DROP TABLE idempotency_failures`); err != nil {
			t.Fatal(err)
		}
		s.before = func(callback.Event) error {
			if s.runs.Load() == 1 {
				return errShop
			}
			return nil
		}
		s.want(callbacktest.Notice{}, s.refused(500))
		s.want(callbacktest.Notice{}, s.acknowledged())
		s.order("paid 88 0")
		if _, err := callback.Failures(t.Context(), s.db, s.store, "", 1); err == nil {
			t.Error("failures are read without their table")
		}
	})
}

func TestFailuresOfAnyText(t *testing.T) {
	one(t, "stripe", func(t *testing.T, s *shop) {
		for i, text := range []string{"茶\x00\xff", strings.Repeat("错", 900), ""} {
			s.before = func(callback.Event) error { return textError(text) }
			s.want(callbacktest.Notice{Delivery: "evt 通知 " + strings.Repeat("长", i*200), Order: "no such"}, s.refused(500))
		}
		all := s.failures()
		if len(all) != 3 {
			t.Fatalf("%+v", all)
		}
		for _, f := range all {
			if len(f.Error) > 1000 || len(f.Delivery) > 255 || f.Order != "no such" {
				t.Errorf("%+v", f)
			}
		}
		if some, err := callback.Failures(t.Context(), s.db, s.store, "other", 10); err != nil || len(some) != 0 {
			t.Errorf("%v %v", some, err)
		}
		if some, err := callback.Failures(t.Context(), s.db, s.store, "stripe", 2); err != nil || len(some) != 2 {
			t.Errorf("%v %v", some, err)
		}
	})
}

type textError string

func (e textError) Error() string { return string(e) }

func (s *shop) failures() []callback.Failure {
	s.t.Helper()
	all, err := callback.Failures(s.t.Context(), s.db, s.store, "", 10)
	if err != nil {
		s.t.Fatal(err)
	}
	return all
}
