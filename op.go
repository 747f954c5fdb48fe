package nebis

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
)

// Op is one operation that is to happen once. Scope, Owner and Key together
// name it.
type Op struct {
	// Scope is the business: "order", "coupon". 1 to 64 characters '!' to '~'.
	Scope string

	// Owner is on whose behalf: a user, tenant or visitor. Owners never share
	// keys or answers. Anything but 1 to 128 characters '!' to '~' is stored as
	// its SHA-256. Empty is an error, because it is a forgotten owner; "nobody
	// in particular" is Anyone. Not a session id that changes: a retry would
	// have another owner.
	Owner string

	// Key is made once by the client and kept over its retries. 1 to 255
	// characters '!' to '~', compared byte by byte.
	Key string

	// Fingerprint is a digest of what was asked, see Digest. A second call with
	// the same key and another fingerprint gets ErrMismatch. Fingerprints are
	// compared when both are there and made by the same rule, that is, have the
	// same text before the first ':'. At most 128 characters '!' to '~'.
	Fingerprint string

	// Keep is how long the answer stays, from the claim on. Defaults to the
	// store's Keep.
	Keep time.Duration

	// KeepSeen is how long it is remembered that the key was used, from when it was
	// done. Where that is longer than Keep, the answer goes after Keep, and a late
	// retry gets ErrNotKept, rather than run again, until KeepSeen is over, too.
	// Defaults to the store's KeepSeen.
	KeepSeen time.Duration

	// Wait is how long a duplicate waits for the first to end, in all. Defaults
	// to the store's Wait; negative: not at all.
	Wait time.Duration

	// MaxResponse is the largest encoded result, in bytes, that is kept.
	// Defaults to the store's MaxResponse. The work commits all the same when
	// the result is larger; duplicates get ErrNotKept.
	MaxResponse int

	// Recheck, if set, is asked before a stored result is replayed from the
	// table, with the encoded result and inside a transaction that holds the
	// row. False: the business has changed, let the operation run again in this
	// transaction. It should only read. Not for DoTx, which refuses it.
	Recheck func(ctx context.Context, tx *sql.Tx, response []byte) (replay bool, err error)
}

// Anyone is the owner of operations that belong to nobody in particular.
const Anyone = "\x00anyone"

// What the table says for Anyone. An owner of this very name is hashed.
const storedAnyone = "*"

const (
	maxKey, maxScope, maxOwner = 255, 64, 128
	maxFingerprint             = 128
	hashedOwner                = "sha256:"
)

// checked returns op with its owner as it is stored, or an ErrKey. The error
// never has the key in it.
func (op Op) checked() (Op, error) {
	switch {
	case !plain(op.Scope, maxScope):
		return op, fmt.Errorf("%w: scope: want 1 to %d characters '!' to '~'", ErrKey, maxScope)
	case !plain(op.Key, maxKey):
		return op, fmt.Errorf("%w: key of %d bytes: want 1 to %d characters '!' to '~'", ErrKey, len(op.Key), maxKey)
	case op.Owner == "":
		return op, fmt.Errorf("%w: owner is empty; nebis.Anyone is nobody in particular", ErrKey)
	case op.Fingerprint != "" && !plain(op.Fingerprint, maxFingerprint):
		return op, fmt.Errorf("%w: fingerprint: want at most %d characters '!' to '~'", ErrKey, maxFingerprint)
	case op.Keep < 0 || op.KeepSeen < 0:
		return op, fmt.Errorf("%w: keep is negative", ErrKey)
	}
	op.Owner = ownerColumn(op.Owner)
	return op, nil
}

// seen is how long the key is to be remembered, in microseconds; NULL: no longer
// than its answer.
func (op Op) seen() sql.NullInt64 {
	return sql.NullInt64{Int64: op.KeepSeen.Microseconds(), Valid: op.KeepSeen > op.Keep}
}

func ownerColumn(owner string) string {
	switch {
	case owner == Anyone:
		return storedAnyone
	case owner == storedAnyone || strings.HasPrefix(owner, hashedOwner) || !plain(owner, maxOwner):
		sum := sha256.Sum256([]byte(owner))
		return hashedOwner + hex.EncodeToString(sum[:])
	}
	return owner
}

// plain reports whether s has 1 to most characters '!' to '~'.
func plain(s string, most int) bool {
	if s == "" || len(s) > most {
		return false
	}
	for i := range len(s) {
		if s[i] < '!' || s[i] > '~' {
			return false
		}
	}
	return true
}

// sameAsk reports whether two fingerprints allow the same answer. Those of
// different rules cannot be compared.
func sameAsk(a, b string) bool {
	if a == "" || b == "" || a == b {
		return true
	}
	ruleA, _, okA := strings.Cut(a, ":")
	ruleB, _, okB := strings.Cut(b, ":")
	return okA && okB && ruleA != ruleB
}
