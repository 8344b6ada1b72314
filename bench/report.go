package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// report is everything that a run found out.
type report struct {
	Machine machine  `json:"machine"`
	Plan    planJSON `json:"plan"`
	Lines   []line   `json:"contestants"`
	Ratios  []ratio  `json:"ratios"`
	Turns   []turn   `json:"turns"`
}

// table prints the report for people.
func (r *report) table(w io.Writer) {
	fmt.Fprintf(w, "\nMedian of %d rounds of %.1f s, %d connections (lowest–highest)\n\n", r.Plan.Rounds, r.Plan.Seconds, r.Plan.Connections)
	r.grid(w)
	fmt.Fprintln(w)
	for _, q := range r.Ratios {
		fmt.Fprintf(w, "%-3s %-52s %-22s target %s\n", q.ID, q.What, q, q.Target)
	}
}

// grid prints one line for each contestant, as a Markdown table.
func (r *report) grid(w io.Writer) {
	rows := [][]string{{"", "answers/s", "p50 ms", "p99 ms", "recorded/s under load", "recorded/s draining", "drain s"}}
	for _, l := range r.Lines {
		drain := l.Drain.text(2)
		if l.Extrapolated {
			drain += " (extrapolated)"
		}
		rows = append(rows, []string{
			l.Contestant, l.Rate.text(0), l.P50.text(2), l.P99.text(2), l.Meanwhile.text(0), l.Draining.text(0), drain,
		})
	}
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	for i, row := range rows {
		for j, cell := range row {
			fmt.Fprintf(w, "| %-*s ", widths[j], cell)
		}
		fmt.Fprintln(w, "|")
		if i == 0 {
			for _, n := range widths {
				fmt.Fprint(w, "| "+strings.Repeat("-", n)+" ")
			}
			fmt.Fprintln(w, "|")
		}
	}
}

// text prints a figure with its spread; what does not apply is a dash.
func (s spread) text(digits int) string {
	if s == (spread{}) {
		return "–"
	}
	return fmt.Sprintf("%.*f (%.*f–%.*f)", digits, s.Median, digits, s.Low, digits, s.High)
}

// write writes the report as Markdown and JSON, named by date and commit.
func (r *report) write(dir string, progress io.Writer) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	date, _, _ := strings.Cut(r.Machine.Date, "T")
	name := filepath.Join(dir, date+"-"+r.Machine.Commit)
	raw, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	err = errors.Join(
		os.WriteFile(name+".json", append(raw, '\n'), 0o644),
		os.WriteFile(name+".md", []byte(r.markdown()), 0o644),
	)
	fmt.Fprintf(progress, "written: %s.md and .json\n", name)
	return err
}

// markdown is the report as a page.
func (r *report) markdown() string {
	var b strings.Builder
	m := r.Machine
	fmt.Fprintf(&b, "# Accepted and recorded orders, %s\n\n", m.Date)
	fmt.Fprintf(&b, "Commit %s, %s on %s, %d × %s, Redis %s, database %s. Load generator, contestant, Redis and database share this machine.\n\n",
		m.Commit, m.Go, m.System, m.Processors, m.Processor, m.Redis, m.Database)
	fmt.Fprintf(&b, "Median of %d rounds of %.1f s with %d connections, lowest and highest in brackets. Every request is another user's, "+
		"with a token of his own, and all of them are accepted (refused, where it says sold out).\n\n", r.Plan.Rounds, r.Plan.Seconds, r.Plan.Connections)
	r.grid(&b)
	b.WriteString("\n")
	r.chart(&b)
	b.WriteString("\n| | Ratio, taken within each round | Median (low–high) | Target |\n| --- | --- | --- | --- |\n")
	for _, q := range r.Ratios {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", q.ID, q.What, q, q.Target)
	}
	b.WriteString("\n\"Recording held back\" keeps the sale's row locked while purchases come in: that is admission alone, " +
		"with a backlog to drain afterwards. A drain that would take long is extrapolated from the speed of its first seconds. " +
		"After each turn rows, stocks and answers were compared; they agreed.\n\nDurability: ")
	var settings []string
	for _, name := range slices.Sorted(maps.Keys(m.Durability)) {
		settings = append(settings, name+" "+m.Durability[name])
	}
	b.WriteString(strings.Join(settings, ", ") + ".\n\n")
	var client []float64
	for _, t := range r.Turns {
		if t.ClientCPU > 0 {
			client = append(client, t.ClientCPU)
		}
	}
	fmt.Fprintf(&b, "The load generator took %s of the %d processors.\n", over(client).text(2), m.Processors)
	b.WriteString("\nAgain: `make bench`. Every single figure: the JSON file beside this one.\n")
	return b.String()
}

// chart draws the accepted rates as bars of text.
func (r *report) chart(b *strings.Builder) {
	const width = 40
	most := 0.0
	for _, l := range r.Lines {
		most = max(most, l.Rate.Median)
	}
	b.WriteString("```\nanswers per second\n")
	for _, l := range r.Lines {
		if l.Rate.Median == 0 {
			continue
		}
		bar := strings.Repeat("█", int(width*l.Rate.Median/max(most, 1)+0.5))
		fmt.Fprintf(b, "%-48s %s %.0f\n", l.Contestant, bar, l.Rate.Median)
	}
	b.WriteString("```\n")
}
