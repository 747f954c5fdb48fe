package shop

import (
	"fmt"
	"strconv"
)

// The languages of the shop, as HTML names them.
const (
	english = "en"
	chinese = "zh-CN"
)

// say is a text in a language. An unknown key shows itself; a test finds those.
func say(lang, key string, args ...any) string {
	t, ok := texts[key]
	if !ok {
		return "[" + key + "]"
	}
	format := t.en
	if lang == chinese {
		format = t.zh
	}
	if len(args) == 0 {
		return format
	}
	return fmt.Sprintf(format, args...)
}

// times says how often: once, twice, 3 times.
func times(lang string, n int) string {
	if n == 1 || n == 2 {
		return say(lang, "times_"+strconv.Itoa(n))
	}
	return say(lang, "times_n", n)
}

// noun is what is counted: order, orders.
func noun(lang, key string, n int) string {
	if n == 1 {
		key += "_1"
	}
	return say(lang, key)
}

type text struct{ en, zh string }
