package shop

import (
	"fmt"
	"maps"
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

// yuan is an amount of money.
func yuan(lang string, cents int64) string {
	return say(lang, "money", fmt.Sprintf("%d.%02d", cents/100, cents%100))
}

type text struct{ en, zh string }

// texts has everything that a visitor can read, each text in both languages.
var texts = together(shopTexts, paymentTexts)

func together(all ...map[string]text) map[string]text {
	whole := map[string]text{}
	for _, part := range all {
		maps.Copy(whole, part)
	}
	return whole
}
