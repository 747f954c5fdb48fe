package nebis

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestTheErrorOfAClaimDoesNotTellTheKey(t *testing.T) {
	server := errors.New("Error 1062: Duplicate entry 'k-secret-order-u-secret' for key 'uk'")
	err := fmt.Errorf("%w: %w", ErrBusy, lostClaim{redacted{server, Op{Key: "k-secret", Owner: "u-secret"}}})
	if strings.Contains(err.Error(), "secret") || !errors.Is(err, server) {
		t.Errorf("%v", err)
	}
}
