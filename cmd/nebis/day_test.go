package main

import (
	"database/sql"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.yaml.in/yaml/v4"
)

// day is what happens to a shop in one: orders, and all that may become of them.
func (p *process) day(file, numbers string) {
	const tea = `{"item":"tea","qty":1}`
	p.order("plain", tea)
	p.order("plain", tea) // from the table
	p.order("plain", `{"item":"tea","qty":2}`)
	p.order("failing", `{"item":"tea","qty":1,"fail":"error"}`)
	p.overtake("waiting", "/api/orders", numbers)           // from memory
	p.overtake("impatient", "/api/orders/at-once", numbers) // in progress
	p.expire(file, "plain")
	p.order("plain", tea) // takes it over
}

// overtake sends a slow order, and the same again once the first is under way.
func (p *process) overtake(key, path, numbers string) {
	p.t.Helper()
	send := func() {
		req, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, p.base+path, strings.NewReader(`{"item":"tea","qty":1,"delay_ms":1500}`))
		if err != nil {
			p.t.Error(err)
			return
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Idempotency-Key", key)
		p.send(req)
	}
	var first sync.WaitGroup
	first.Go(send)
	for running := ""; running != "1"; {
		_, text := scrape(p.t, numbers)
		running = underWay.FindStringSubmatch(text)[1]
	}
	send()
	first.Wait()
}

var underWay = regexp.MustCompile(`(?m)^nebis_operations_running\{.*\} (\d+)$`)

// expire lets the time of a key be over.
func (p *process) expire(file, key string) {
	p.t.Helper()
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(5000)")
	if err != nil {
		p.t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(p.t.Context(), `UPDATE nebis_demo_idempotency SET expires_at = created_at WHERE idem_key = ?`, key); err != nil {
		p.t.Fatal(err)
	}
}

// A shop after a day serves every metric, with the labels, that the dashboard and the
// alerts ask for.
func TestTheDashboardAndTheAlertsAskForWhatThereIs(t *testing.T) {
	file, addr := filepath.Join(t.TempDir(), "demo.db"), free(t)
	p := startWith(t, []string{"NEBIS_DB=sqlite:" + file}, "demo", "--addr", "127.0.0.1:0", "--metrics", addr)
	p.listening()
	numbers := "http://" + addr + "/metrics"
	p.day(file, numbers)
	_, text := scrape(t, numbers)
	p.stop()
	for _, outcome := range []string{"ran", "replayed-table", "replayed-memory", "mismatch", "released", "in-progress", "took-over"} {
		if !regexp.MustCompile(`(?m)^nebis_operations_total\{outcome="` + outcome + `",scope="order"\} [1-9]`).MatchString(text) {
			t.Errorf("nothing was %s in this day", outcome)
		}
	}
	series := seriesOf(text)
	for where, exprs := range map[string][]string{"the dashboard": dashboard(t), "the alerts": alerts(t)} {
		asked := 0
		for _, expr := range exprs {
			for _, want := range selectors(expr) {
				asked++
				if !slices.ContainsFunc(series, want.in) {
					t.Errorf("%s: nothing is %+v in %s", where, want, expr)
				}
			}
		}
		if asked == 0 {
			t.Errorf("%s ask for nothing", where)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

// A selector is one alternative of what an expression asks for.
type selector struct {
	name   string
	labels map[string]string
}

func (s selector) in(have selector) bool {
	if s.name != have.name {
		return false
	}
	for k, v := range s.labels {
		if have.labels[k] != v {
			return false
		}
	}
	return true
}

var (
	metric = regexp.MustCompile(`(nebis_[a-z_]+)(?:\{([^}]*)\})?`)
	label  = regexp.MustCompile(`([a-z_]+)=(~?)"([^"]*)"`)
)

// seriesOf reads a scrape.
func seriesOf(text string) (all []selector) {
	for line := range strings.Lines(text) {
		if m := metric.FindStringSubmatchIndex(line); m != nil && m[0] == 0 {
			all = append(all, selectors(line)[0])
		}
	}
	return all
}

// selectors reads an expression. What Prometheus and Grafana put in themselves is left
// out: the job, and variables.
func selectors(expr string) (all []selector) {
	for _, m := range metric.FindAllStringSubmatch(expr, -1) {
		some := []selector{{m[1], map[string]string{}}}
		for _, l := range label.FindAllStringSubmatch(m[2], -1) {
			name, several, value := l[1], l[2] == "~", l[3]
			if name == "job" || strings.Contains(value, "$") {
				continue
			}
			values := []string{value}
			if several {
				values = strings.Split(value, "|")
			}
			var more []selector
			for _, s := range some {
				for _, v := range values {
					labels := map[string]string{name: v}
					for k, other := range s.labels {
						labels[k] = other
					}
					more = append(more, selector{s.name, labels})
				}
			}
			some = more
		}
		all = append(all, some...)
	}
	return all
}

// dashboard returns the expressions of all panels and variables.
func dashboard(t *testing.T) (exprs []string) {
	t.Helper()
	var board struct {
		UID        string
		Templating struct {
			List []struct{ Name, Type, Definition string }
		}
		Panels []struct {
			ID      int
			Targets []struct{ Expr string }
		}
	}
	data, err := os.ReadFile("../../deploy/grafana/nebis.json")
	if err == nil {
		err = json.Unmarshal(data, &board)
	}
	if err != nil {
		t.Fatal(err)
	}
	if v := board.Templating.List[0]; v.Name != "datasource" || v.Type != "datasource" {
		t.Errorf("the data source is not a variable: %+v", v)
	}
	for _, m := range source.FindAllStringSubmatch(string(data), -1) {
		if m[1] != "${datasource}" && m[1] != board.UID {
			t.Errorf("something has a data source of its own: %s", m[1])
		}
	}
	seen := map[int]bool{}
	for _, p := range board.Panels {
		if seen[p.ID] {
			t.Errorf("two panels are number %d", p.ID)
		}
		seen[p.ID] = true
		for _, x := range p.Targets {
			exprs = append(exprs, x.Expr)
		}
	}
	for _, v := range board.Templating.List {
		if v.Definition != "" {
			exprs = append(exprs, v.Definition)
		}
	}
	return exprs
}

var source = regexp.MustCompile(`"uid": "([^"]*)"`)

// alerts returns the expressions of all alerts.
func alerts(t *testing.T) (exprs []string) {
	t.Helper()
	var rules struct {
		Groups []struct{ Rules []struct{ Expr string } }
	}
	data, err := os.ReadFile("../../deploy/prometheus/nebis.rules.yaml")
	if err == nil {
		err = yaml.Unmarshal(data, &rules)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			exprs = append(exprs, r.Expr)
		}
	}
	return exprs
}
