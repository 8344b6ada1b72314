package compose

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/testkit/server"
)

// text returns a file of the project.
func text(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// found returns the sorted matches of the pattern's first group.
func found(pattern, in string) []string {
	var all []string
	for _, match := range regexp.MustCompile(pattern).FindAllStringSubmatch(in, -1) {
		all = append(all, match[1])
	}
	slices.Sort(all)
	return all
}

// The runbook has an entry for each alert, with its meaning and what to do, and no other entries.
func TestEveryAlertIsInTheRunbook(t *testing.T) {
	t.Parallel()
	rules := text(t, "deploy/prometheus/rules.yml")
	alerts := found(`(?m)^      - alert: (\w+)$`, rules)
	if diff := cmp.Diff(alerts, found(`(?m)^## (Seckill\w+)$`, text(t, "docs/runbook.md"))); diff != "" {
		t.Errorf("alerts (-) and entries of the runbook (+):\n%s", diff)
	}
	for entry := range strings.SplitSeq(text(t, "docs/runbook.md"), "\n## Seckill") {
		for _, part := range []string{"**Means:**", "**Look:**", "**Do:**"} {
			if name, _, _ := strings.Cut(entry, "\n"); name != "# Runbook" && !strings.Contains(entry, "\n"+part) {
				t.Errorf("Seckill%s has no %s", name, part)
			}
		}
	}
	tested := found(`alertname: (\w+)`, text(t, "deploy/prometheus/rules_test.yml"))
	if diff := cmp.Diff(alerts, slices.Compact(tested)); diff != "" {
		t.Errorf("alerts (-) and those that rules_test.yml tests (+):\n%s", diff)
	}
	anchors := found(`runbook_url: docs/runbook\.md#(\w+)`, rules)
	for i, name := range alerts {
		alerts[i] = strings.ToLower(name)
	}
	if diff := cmp.Diff(alerts, anchors); diff != "" {
		t.Errorf("alerts (-) and their anchors (+):\n%s", diff)
	}
}

// promtool runs Prometheus's own checker on the rules.
func promtool(t *testing.T, args ...string) {
	t.Helper()
	program, err := server.Program(t.Context(), "promtool", "prometheus")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = filepath.Join(root, "deploy", "prometheus")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool %v: %v\n%s", args, err, out)
	}
}

// The rules are valid, and fire or stay quiet as rules_test.yml expects.
func TestRules(t *testing.T) {
	t.Parallel()
	promtool(t, "check", "config", "prometheus.yml")
	promtool(t, "test", "rules", "rules_test.yml")
}

// dashboard is the part of a Grafana dashboard that the tests read.
type dashboard struct {
	Panels []struct {
		Title   string `json:"title"`
		Targets []struct {
			Expr string `json:"expr"`
		} `json:"targets"`
	} `json:"panels"`
}

// Every query of the dashboard can be parsed: promtool checks it as a recording rule.
func TestDashboardQueries(t *testing.T) {
	t.Parallel()
	var d dashboard
	if err := json.Unmarshal([]byte(text(t, "deploy/grafana/dashboards/seckill.json")), &d); err != nil {
		t.Fatal(err)
	}
	var rules strings.Builder
	rules.WriteString("groups:\n  - name: dashboard\n    rules:\n")
	queries := 0
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			queries++
			expr := strings.ReplaceAll(target.Expr, "$__rate_interval", "1m")
			rules.WriteString("      - {record: query" + strconv.Itoa(queries) + ", expr: " +
				strconv.Quote(expr) + "}\n")
		}
	}
	if queries < len(d.Panels) {
		t.Fatalf("%d panels have %d queries", len(d.Panels), queries)
	}
	path := filepath.Join(t.TempDir(), "queries.yml")
	if err := os.WriteFile(path, []byte(rules.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	promtool(t, "check", "rules", path)
}
