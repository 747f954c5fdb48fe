package gateway

import (
	"errors"
	"fmt"

	"go.yaml.in/yaml/v4"
)

// fields are those of the file, each with what reads it.
func (c *Config) fields(f *file) map[string]reader {
	return map[string]reader{
		"addr":            one(f, &c.Addr, parseAddr),
		"upstream":        one(f, &c.Upstream, parseUpstream),
		"db":              one(f, &c.DB, parseDB),
		"trusted_proxies": many(f, &c.TrustedProxies, parsePrefix),
		"owner":           one(f, &c.Owner, parseOwner),
		"clean":           one(f, &c.Clean, parseClean),
		"forms":           many(f, &c.Forms, ParsePattern),
		"routes":          c.readRoutes(f),
		"metrics":         one(f, &c.Metrics, parseMetrics),
		"metrics_public":  one(f, &c.MetricsPublic, parseBool),
	}
}

func (c *Config) readRoutes(f *file) reader {
	return func(n *yaml.Node, field string) {
		n = followed(n)
		if n.Kind != yaml.SequenceNode {
			f.wrong(n, field, errors.New("here should be a list, each with - match: POST /path"))
			return
		}
		for i, item := range n.Content {
			r := NewRoute(Pattern{})
			within := fmt.Sprintf("%s[%d]", field, i)
			before := len(f.mistakes)
			f.fields(item, within, r.fields(f))
			if len(f.mistakes) == before {
				f.settle(item, within, &r)
			}
			if j := find(c.Routes, r.Match); j >= 0 && len(f.mistakes) == before {
				f.wrong(item, within+".match", fmt.Errorf("%q is that of %s[%d] again: a write has one route", r.Match, field, j))
			}
			c.Routes = append(c.Routes, r)
		}
	}
}

// settle tells here, where the line is known, what Config.Settle would find.
func (f *file) settle(n *yaml.Node, within string, r *Route) {
	err := errors.New("match is missing, such as match: POST /checkout")
	if r.Match.text != "" {
		err = r.settle()
	}
	if err != nil {
		f.wrong(n, within, err)
	}
}

func (r *Route) fields(f *file) map[string]reader {
	return map[string]reader{
		"match":             one(f, &r.Match, ParsePattern),
		"scope":             one(f, &r.Scope, parseScope),
		"key":               r.readKey(f),
		"kind":              one(f, &r.Kind, parseKind),
		"required":          one(f, &r.Required, parseBool),
		"success":           r.readSuccess(f),
		"on_upstream_error": one(f, &r.OnUpstreamError, oneOf(Unknown, Free)),
		"permit":            one(f, &r.Permit, parsePermit),
		"verify":            one(f, &r.Verify, parseVerify),
		"look":              one(f, &r.Look, parseVerify),
		"on_store_error":    one(f, &r.OnStoreError, oneOf(Closed, Open)),
		"keep":              one(f, &r.Keep, parsePositive),
		"keep_seen":         one(f, &r.KeepSeen, parseDuration),
		"wait":              one(f, &r.Wait, parseWait),
		"deadline":          one(f, &r.Deadline, parsePositive),
		"max_body":          one(f, &r.MaxBody, parseSize),
	}
}

func (r *Route) readKey(f *file) reader {
	read := many(f, &r.Key, parseSource)
	return func(n *yaml.Node, field string) {
		read(n, field)
		if followed(n).Kind == yaml.SequenceNode && len(followed(n).Content) == 0 {
			f.wrong(n, field, errors.New("the list is empty: leave the field out for the default"))
		}
	}
}

func (r *Route) readSuccess(f *file) reader {
	s := &r.Success
	return func(n *yaml.Node, field string) {
		f.fields(n, field, map[string]reader{
			"status":       one(f, &s.Status, parseStatus),
			"body":         one(f, &s.Body, parseBody),
			"json":         one(f, &s.JSON, parseJSONRule),
			"not_location": one(f, &s.NotLocation, parseLocation),
		})
	}
}
