package report

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Lang is a language that reports are written in.
type Lang string

// The languages.
const (
	English Lang = "en"
	Chinese Lang = "zh"
)

// Langs are all of them, in the order of the page's switch.
var Langs = []Lang{English, Chinese}

// ParseLang reads --lang; an empty one is that of the environment's locale.
func ParseLang(flag string, getenv func(string) string) (Lang, error) {
	switch flag {
	case "en":
		return English, nil
	case "zh":
		return Chinese, nil
	case "":
		return locale(getenv), nil
	}
	return "", fmt.Errorf("--lang is en or zh, not %q", flag)
}

func locale(getenv func(string) string) Lang {
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if v := getenv(name); v != "" {
			if strings.HasPrefix(v, "zh") {
				return Chinese
			}
			return English
		}
	}
	return English
}

// Of chooses between the two.
func (l Lang) Of(en, zh string) string {
	if l == Chinese {
		return zh
	}
	return en
}

// Name is what a reader of the language calls it.
func (l Lang) Name() string { return l.Of("English", "中文") }

// Tag is for the lang attribute of HTML.
func (l Lang) Tag() string { return l.Of("en", "zh-CN") }

// Count groups the digits: 1,234,567.
func Count(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Plural is a count with its noun: 1 row, 1,234 rows.
func Plural(n int, one, many string) string {
	if n == 1 {
		many = one
	}
	return Count(n) + " " + many
}

// Percent is n of all, without a decimal that nobody needs.
func Percent(n, all int) string {
	if all == 0 {
		return "–"
	}
	p := float64(n) / float64(all) * 100
	if p > 0 && p < 10 {
		return strconv.FormatFloat(p, 'f', 1, 64) + "%"
	}
	return strconv.FormatFloat(p, 'f', 0, 64) + "%"
}

// Gap is a duration as short as people say it.
func (l Lang) Gap(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return plain(d.Seconds()) + l.Of(" s", " 秒")
	case d < 2*time.Minute:
		return plain(d.Round(time.Second/10).Seconds()) + l.Of(" s", " 秒")
	case d < 2*time.Hour:
		return plain(d.Round(time.Minute/10).Minutes()) + l.Of(" min", " 分钟")
	}
	return plain(d.Round(time.Hour/10).Hours()) + l.Of(" h", " 小时")
}

func plain(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
