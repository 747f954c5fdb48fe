package sqltext

import (
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	for s, ok := range map[string]bool{
		"idempotency": true, "shop.keys_2": true, "": false, "a-b": false, "a`b": false, `a"b`: false, "a.b.c": false, ".a": false,
		"a.": false, "1a": false, strings.Repeat("t", 50): true, strings.Repeat("t", 51): false, "表": false,
	} {
		n, err := ParseName(s)
		if (err == nil) != ok || ok && n.Quoted("") != s {
			t.Errorf("%q: %v, %v", s, n, err)
		}
	}
	n := Name{Schema: "shop", Table: "keys"}
	if got := n.Quoted("`") + " " + n.Index("uk"); got != "`shop`.`keys` keys_uk" {
		t.Error(got)
	}
}

func TestNumbered(t *testing.T) {
	for q, want := range map[string]string{"": "", "a = ?": "a = $1", "?,? ?": "$1,$2 $3"} {
		if got := Numbered(q); got != want {
			t.Errorf("%q: %q", q, got)
		}
	}
}

func TestErrorIsOfCharactersThatEveryTableTakes(t *testing.T) {
	for s, want := range map[string]string{
		"no money": "no money", "a\r\nb\x00c": "a  b c", "茶\xff": "茶?", "🍵!": " !",
		strings.Repeat("茶", 501): strings.Repeat("茶", 500),
	} {
		if got := Error(s); got.String != want || !got.Valid {
			t.Errorf("%q: %v", s, got)
		}
	}
	if Error("").Valid {
		t.Error("nothing is a text")
	}
}
