//go:build linux

package deploytest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

// installed finds a program that make test installs: there, to lack it is a failure.
func installed(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err == nil {
		return path
	}
	if os.Getenv(dbtest.RequireEnv) == "1" {
		t.Fatalf("required, but missing: %s", name)
	}
	t.Skipf("skipped: %s is not installed", name)
	return ""
}

const alertFolder = "../../../deploy/prometheus"

func TestTheAlertsFireWhereTheyShould(t *testing.T) {
	t.Parallel()
	program := installed(t, "promtool")
	for _, args := range [][]string{{"check", "rules", "nebis.rules.yaml"}, {"test", "rules", "nebis.test.yaml"}} {
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Dir = alertFolder
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

func readYAML(t *testing.T, name string, to any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(alertFolder, name))
	if err == nil {
		err = yaml.Unmarshal(data, to)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Each alert has a test in which it fires and one in which it does not, and says what
// to do.
func TestEachAlertIsTested(t *testing.T) {
	t.Parallel()
	var rules struct {
		Groups []struct {
			Rules []struct {
				Alert       string
				Labels      struct{ Severity string }
				Annotations struct{ Summary, Description string }
			}
		}
	}
	var tests struct {
		Tests []struct {
			Exprs []struct {
				Expr string
				Exp  []any `yaml:"exp_samples"`
			} `yaml:"promql_expr_test"`
		}
	}
	readYAML(t, "nebis.rules.yaml", &rules)
	readYAML(t, "nebis.test.yaml", &tests)
	fires, still := map[string]bool{}, map[string]bool{}
	for _, one := range tests.Tests {
		for _, x := range one.Exprs {
			if len(x.Exp) > 0 {
				fires[x.Expr] = true
			} else {
				still[x.Expr] = true
			}
		}
	}
	n := 0
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			n++
			expr := `ALERTS{alertname="` + r.Alert + `", alertstate="firing"}`
			if !fires[expr] || !still[expr] {
				t.Errorf("%s: tested that it fires: %v, that it is still: %v", r.Alert, fires[expr], still[expr])
			}
			if r.Annotations.Summary == "" || r.Annotations.Description == "" || r.Labels.Severity == "" {
				t.Errorf("%s does not say what, what to do, or how bad it is", r.Alert)
			}
		}
	}
	if n == 0 {
		t.Error("there are no alerts")
	}
}
