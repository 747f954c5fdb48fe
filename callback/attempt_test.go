package callback

import (
	"errors"
	"fmt"
	"testing"

	"github.com/nebis-dev/nebis"
)

// What may have been committed is not run again, whatever the database says of it.
func TestNothingRunsAgainWhoseOutcomeIsUnknown(t *testing.T) {
	deadlock := errors.New("Error 1213 (40001): Deadlock found when trying to get lock; try restarting transaction")
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{fmt.Errorf("the shop: %w", deadlock), true},
		{fmt.Errorf("%w: commit: %w", nebis.ErrNotCommitted, deadlock), true},
		{fmt.Errorf("%w: commit: %w", nebis.ErrUnknown, deadlock), false},
		{fmt.Errorf("%w: %w: ended by hand: %w", nebis.ErrUnknown, nebis.ErrTxGone, deadlock), false},
	} {
		if got := lostToAnother(c.err); got != c.want {
			t.Errorf("%v: %v", c.err, got)
		}
	}
}
