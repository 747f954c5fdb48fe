package nebis

import (
	"errors"
	"math"
	"strings"
	"testing"
)

func TestOwnersAreStoredApart(t *testing.T) {
	owners := []string{
		Anyone, "*", "anyone", "a", "A", "a ", "张三", "张三 ", strings.Repeat("o", 128), strings.Repeat("o", 129),
		ownerColumn("张三"), ownerColumn("*"), "sha256:", "\x00",
	}
	seen := map[string]string{}
	for _, owner := range owners {
		col := ownerColumn(owner)
		if other, ok := seen[col]; ok {
			t.Errorf("%.20q and %.20q are both stored as %q", owner, other, col)
		}
		seen[col] = owner
		if !plain(col, maxOwner) {
			t.Errorf("%.20q is stored as %q", owner, col)
		}
	}
	if ownerColumn("user-1") != "user-1" {
		t.Error("a plain owner is not stored as it is")
	}
}

func TestAMalformedOperationIsRefused(t *testing.T) {
	good := Op{Scope: "s", Owner: "o", Key: "k"}
	if _, err := good.checked(); err != nil {
		t.Fatal(err)
	}
	secret := strings.Repeat("secret ", 100)
	for name, spoil := range map[string]func(*Op){
		"no scope":         func(o *Op) { o.Scope = "" },
		"long scope":       func(o *Op) { o.Scope = strings.Repeat("s", 65) },
		"no owner":         func(o *Op) { o.Owner = "" },
		"no key":           func(o *Op) { o.Key = "" },
		"long key":         func(o *Op) { o.Key = strings.Repeat("k", 256) },
		"blank in key":     func(o *Op) { o.Key = secret },
		"negative keep":    func(o *Op) { o.Keep = -1 },
		"long fingerprint": func(o *Op) { o.Fingerprint = strings.Repeat("f", 129) },
		"no fingerprint":   func(o *Op) { o.Fingerprint = Digest(math.NaN()) },
	} {
		op := good
		spoil(&op)
		_, err := op.checked()
		if !errors.Is(err, ErrKey) {
			t.Errorf("%s: %v, want ErrKey", name, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error tells the key: %v", name, err)
		}
	}
}

func TestFingerprintsAreComparedWithinTheirRule(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"", "", true}, {"h1:a", "", true}, {"", "h1:a", true}, {"h1:a", "h1:a", true}, {"h1:a", "h1:b", false},
		{"h1:a", "h2:b", true}, {"a", "b", false}, {"a", "h1:b", false},
	} {
		if sameAsk(c.a, c.b) != c.same || sameAsk(c.b, c.a) != c.same {
			t.Errorf("%q and %q: want %v", c.a, c.b, c.same)
		}
	}
}

func TestDigestTellsValuesApart(t *testing.T) {
	type in struct {
		Item string
		Qty  int
	}
	a, b := Digest(in{"tea", 1}), Digest(in{"tea", 1})
	if a != b || a == Digest(in{"tea", 2}) || !strings.HasPrefix(a, digestRule) {
		t.Errorf("%s %s", a, b)
	}
	if Digest(map[string]int{"a": 1, "b": 2}) != Digest(map[string]int{"b": 2, "a": 1}) {
		t.Error("the order of a map counts")
	}
}
