package nebis

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// digestRule names the rule by which Digest works; fingerprints of different
// rules are not compared.
const digestRule = "d1:"

// Digest returns a fingerprint of v for Op.Fingerprint: the SHA-256 of its JSON,
// as encoding/json writes it (fields in their order, maps sorted). A v that
// cannot be encoded (a channel, NaN) gives a fingerprint that Do refuses with
// ErrKey, rather than one that matches everything.
func Digest(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return "cannot be encoded: " + err.Error()
	}
	sum := sha256.Sum256(raw)
	return digestRule + hex.EncodeToString(sum[:])
}
