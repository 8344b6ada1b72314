package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// report is everything that a comparison found out.
type report struct {
	Machine machine  `json:"machine"`
	Plan    planJSON `json:"plan"`
	Lines   []line   `json:"contestants"`
	Ratios  []ratio  `json:"ratios"`
	Rushes  []rush   `json:"rushes"`
	Crashes []crash  `json:"crashes"`
	Turns   []turn   `json:"turns"`
}

// table prints the report for people.
func (r *report) table(w io.Writer) {
	fmt.Fprintf(w, "\nMedian of %d rounds of %.1f s, %d connections (lowest–highest)\n\n", r.Plan.Rounds, r.Plan.Seconds, r.Plan.Connections)
	r.grid(w)
	fmt.Fprintln(w)
	fmt.Fprintln(w, r.costTable())
	for _, q := range r.Ratios {
		verdict := "missed"
		if q.met() {
			verdict = "met"
		}
		fmt.Fprintf(w, "%-3s  %-52s %-28s target %-12s %s\n", q.ID, q.What, q, q.target(), verdict)
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
	grid(w, rows)
}

// grid prints rows as a Markdown table that is readable as it is; the first one is the head.
func grid(w io.Writer, rows [][]string) {
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

// write writes the report as Markdown, charts and JSON, named by date and commit, and brings the story up to date.
func (r *report) write(dir string, progress io.Writer) error {
	name := r.Machine.name()
	files, err := r.files(name)
	if err != nil {
		return err
	}
	if err = writeFiles(dir, files, progress); err != nil {
		return err
	}
	if err = updateStory(dir, r.sections(name), progress); err != nil {
		return err
	}
	return r.updateReadmes(dir, name, func(path string) { fmt.Fprintln(progress, "written:", path) })
}

// files are the report's files, without the directory.
func (r *report) files(name string) (map[string]string, error) {
	raw, err := json.MarshalIndent(r, "", "  ")
	return map[string]string{
		name + ".json":        string(raw) + "\n",
		name + ".md":          r.markdown(name),
		name + ".svg":         r.rateChart().SVG(),
		name + "-targets.svg": r.targetChart().SVG(),
	}, err
}

func writeFiles(dir string, files map[string]string, progress io.Writer) (err error) {
	if err = os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		err = errors.Join(err, os.WriteFile(path, []byte(text), 0o644))
		fmt.Fprintln(progress, "written:", path)
	}
	return err
}
