package test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
)

// panel is a panel of the dashboard; a row that is folded has its panels inside.
type panel struct {
	ID      int
	Type    string
	Title   string
	GridPos struct{ X, Y, W, H int }
	Links   []struct{ Title, URL string }
	Targets []struct{ Expr string }
	Panels  []panel
}

// dashboard returns the panels of the dashboard, also those in folded rows, and the rows.
func dashboard(t *testing.T) (panels, rows []panel) {
	t.Helper()
	text, err := os.ReadFile("../deploy/grafana/dashboards/seckill.json")
	if err != nil {
		t.Fatal(err)
	}
	var all struct{ Panels []panel }
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	for _, p := range all.Panels {
		if p.Type != "row" {
			panels = append(panels, p)
			continue
		}
		rows = append(rows, p)
		panels = append(panels, p.Panels...)
	}
	return panels, rows
}

// TestDashboard checks that the dashboard has single numbers on top and the rest in rows, that no panel covers another,
// and that its links lead to entries of the runbook.
func TestDashboard(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/runbook.md")
	if err != nil {
		t.Fatal(err)
	}
	entries := map[string]bool{}
	for _, heading := range regexp.MustCompile(`(?m)^## (Seckill\w+)$`).FindAllStringSubmatch(string(text), -1) {
		entries[heading[1]] = true
	}
	panels, rows := dashboard(t)
	if len(rows) < 4 {
		t.Errorf("%d rows", len(rows))
	}
	ids, links, numbers := map[int]bool{}, 0, 0
	for i, p := range append(panels, rows...) {
		if ids[p.ID] {
			t.Errorf("%q has the id of another panel", p.Title)
		}
		ids[p.ID] = true
		at := p.GridPos
		if p.Type == "stat" {
			numbers++
			if at.Y >= rows[0].GridPos.Y {
				t.Errorf("%q is a single number below the top", p.Title)
			}
		}
		for _, other := range panels[:min(i, len(panels))] {
			o := other.GridPos
			beside := at.X >= o.X+o.W || o.X >= at.X+at.W || at.Y >= o.Y+o.H || o.Y >= at.Y+at.H
			if p.Type != "row" && !beside && together(rows, p, other) {
				t.Errorf("%q covers %q", p.Title, other.Title)
			}
		}
		for _, link := range p.Links {
			links++
			alert, _ := strings.CutPrefix(link.Title, "Runbook: ")
			if !entries[alert] || link.URL != "${runbook}#"+strings.ToLower(alert) {
				t.Errorf("%q links to %s as %q, which is no entry of the runbook", p.Title, link.URL, link.Title)
			}
		}
	}
	if numbers < 6 || links < len(panels)/2 {
		t.Errorf("%d single numbers, %d links", numbers, links)
	}
}

// together reports whether two panels are in the same folded row, or in none: rows are folded one at a time.
func together(rows []panel, a, b panel) bool {
	in := func(p panel) int {
		for _, row := range rows {
			for _, inside := range row.Panels {
				if inside.ID == p.ID {
					return row.ID
				}
			}
		}
		return 0
	}
	return in(a) == in(b)
}
