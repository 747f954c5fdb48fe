package gateway

import (
	"errors"
	"fmt"
	"strings"
)

// Override is one value that a flag or the environment puts in place of the
// file's. Source names it in messages: --addr, NEBIS_ADDR.
type Override struct {
	Field, Source string
	Values        []string // one, but for lists
}

// Apply puts the overrides over the configuration, in their order, and settles
// it.
func (c *Config) Apply(overrides []Override) error {
	var mistakes []error
	for _, o := range overrides {
		if err := c.apply(o); err != nil {
			mistakes = append(mistakes, fmt.Errorf("%s: %w", o.Source, err))
		}
	}
	if err := errors.Join(mistakes...); err != nil {
		return err
	}
	return c.Settle()
}

func (c *Config) apply(o Override) (err error) {
	last := o.Values[len(o.Values)-1]
	switch o.Field {
	case "addr":
		c.Addr, err = parseAddr(last)
	case "upstream":
		c.Upstream, err = parseUpstream(last)
	case "db":
		c.DB, err = parseDB(last)
	case "owner":
		c.Owner, err = parseOwner(last)
	case "trusted_proxies":
		c.TrustedProxies, err = all(o.Values, parsePrefix)
	case "metrics":
		c.Metrics, err = parseMetrics(last)
	case "metrics_public":
		c.MetricsPublic, err = parseBool(last)
	case "forms":
		c.Forms, err = all(o.Values, ParsePattern)
	case "protect":
		var patterns []Pattern
		if patterns, err = all(o.Values, ParsePattern); err == nil {
			c.Protect(patterns)
		}
	default:
		err = fmt.Errorf("there is no field %q", o.Field)
	}
	return err
}

func all[T any](values []string, parse func(string) (T, error)) ([]T, error) {
	out := []T{}
	for _, s := range values {
		v, err := parse(s)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// environment has the fields that can be given there, and whether they are lists:
// one value a line, or with commas between.
var environment = []struct {
	field string
	list  bool
}{
	{"addr", false}, {"upstream", false}, {"db", false}, {"owner", false},
	{"metrics", false}, {"metrics_public", false},
	{"trusted_proxies", true}, {"forms", true}, {"protect", true},
}

// FromEnvironment returns what NEBIS_ADDR, NEBIS_PROTECT and the like say. An
// empty one says nothing.
func FromEnvironment(getenv func(string) string) []Override {
	var overrides []Override
	for _, e := range environment {
		name := "NEBIS_" + strings.ToUpper(e.field)
		values := []string{strings.TrimSpace(getenv(name))}
		if e.list {
			values = strings.FieldsFunc(values[0], func(r rune) bool { return r == '\n' || r == ',' })
		}
		if len(values) > 0 && values[0] != "" {
			overrides = append(overrides, Override{e.field, name, values})
		}
	}
	return overrides
}
