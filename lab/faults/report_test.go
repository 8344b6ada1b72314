package faults

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The document with the table of results, and the text around the table.
const (
	report      = "../notes/faults.md"
	reportBegin = "<!-- measured: scenarios -->\n"
	reportEnd   = "<!-- measured until here -->\n"
	reportHead  = "| Scenario | Fault | Aimed at | Result | Accepted | Recovery | Lost |\n" +
		"| --- | --- | --- | --- | ---: | ---: | ---: |\n"
)

// results are the rows of the table, by the scenario's number.
type results map[string]string

// add sets the row of a scenario.
func (r results) add(sc scenario, o result, held bool) {
	outcome := "held"
	if !held {
		outcome = "**broken**"
	}
	r[sc.number] = fmt.Sprintf("| %s | %s | %s | %s | %d | %.1f s | %d |\n",
		sc.number, sc.fault, sc.aim, outcome, o.accepted, o.recovery.Seconds(), o.lost)
}

// write puts the rows into the document, if the environment asks for it. Rows of scenarios that did not run stay.
func (r results) write(t *testing.T) {
	t.Helper()
	if os.Getenv(envReport) != "write" || len(r) == 0 {
		return
	}
	text, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, found := strings.Cut(string(text), reportBegin)
	table, tail, ended := strings.Cut(rest, reportEnd)
	if !found || !ended {
		t.Fatalf("%s has no place for the table", report)
	}
	if err := os.WriteFile(report, []byte(head+reportBegin+r.with(table)+reportEnd+tail), 0o600); err != nil {
		t.Fatal(err)
	}
}

// with returns the table with the rows in it, after a line that sums them up.
func (r results) with(table string) string {
	old := results{}
	for line := range strings.Lines(table) {
		if number, _, _ := cell(line, 1); strings.HasPrefix(number, "F") {
			old[number] = line
		}
	}
	var rows strings.Builder
	slowest, longest, broken := "", -1.0, 0
	all := append(scenarios(), onOtherStores()...)
	for _, sc := range onCluster() {
		all = append(all, sc.scenario)
	}
	for _, sc := range all {
		line := r[sc.number]
		if line == "" {
			line = old[sc.number]
		}
		if line == "" {
			continue // it never ran
		}
		rows.WriteString(line)
		if !strings.Contains(line, "| held |") {
			broken++
		}
		if _, seconds, err := cell(line, 6); err == nil && seconds > longest {
			slowest, longest = sc.number, seconds
		}
	}
	return fmt.Sprintf(
		"%s, %d processors, stores and load on the same machine. Longest recovery: %s, %.1f s. Broken: %d.\n\n%s%s",
		time.Now().UTC().Format(time.DateOnly), runtime.NumCPU(), slowest, longest, broken, reportHead, rows.String())
}

// cell returns the n-th cell of a row, counted from 1, and the number at its beginning, if any.
func cell(line string, n int) (text string, number float64, err error) {
	cells := strings.Split(line, "|")
	if n >= len(cells) {
		return "", 0, strconv.ErrSyntax
	}
	text = strings.TrimSpace(cells[n])
	first, _, _ := strings.Cut(text, " ")
	number, err = strconv.ParseFloat(first, 64)
	return text, number, err
}
