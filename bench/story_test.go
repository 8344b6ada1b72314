package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// example is a report with something in every part.
func example() *report {
	r := &report{
		Machine: machine{Date: "2026-01-02T03:04:05Z", Commit: "abc", Durability: map[string]string{"redis appendonly": "yes"}},
		Plan:    planJSON{Rounds: 5, Seconds: 4, Connections: 128, Sales: 1000, Buyers: 1_000_000},
		Rushes:  []rush{{Contestant: userLockName + otherInstances, Processes: 2, Units: 100, Orders: 120, Oversold: 20, Twice: 7}},
		Crashes: []crash{{Contestant: memoryName, Killed: wholeProcess, Accepted: 12345, Recorded: 1, Lost: 12344}},
	}
	for _, c := range contestants(binaries{}) {
		r.Turns = append(r.Turns, turn{
			Contestant: c.name, Round: 1, Rate: 1000, P50: 1, P99: 2, Meanwhile: 500, Draining: 400, Backlog: 4000, Drain: 2,
			RowP99: 8, WaitingBytes: 200, RecordedBytes: 90, ClientCPU: 0.5,
			Cost: perAnswer{Client: 10, Contestant: 50, Redis: 8, Database: 12},
		})
	}
	for _, name := range []string{oneSaleName, manySalesName, smallSalesName, fullSaleName} {
		r.Turns = append(r.Turns, turn{Contestant: name, Round: 1, Rate: 1000})
	}
	r.summarize()
	return r
}

func exampleLimits() *limits {
	return &limits{
		Machine:     machine{Date: "2026-01-02T03:04:05Z", Commit: "abc"},
		Connections: []curve{{Contestant: bareName, At: 16, Rate: spread{3, 2, 4}}, {Contestant: serviceName, At: 16, Rate: spread{2, 1, 3}}},
		Stampede:    stampede{Connections: 12345, FirstError: "connection refused"},
		Sale:        course{Buyers: 1000, Units: 10, Points: []point{{0, 0, 0, 0}, {1.5, 10, 20, 9}}},
	}
}

// TestReported: everybody who has a turn has a line, and every target is measured.
func TestReported(t *testing.T) {
	t.Parallel()
	r := example()
	if got, want := len(r.Lines), len(contestants(binaries{}))+4; got != want || got != len(reported()) {
		t.Errorf("%d lines of %d contestants, %d in the order", got, want, len(reported()))
	}
	for _, q := range r.Ratios {
		if !q.measured() {
			t.Errorf("%s, %s: not measured", q.ID, q.What)
		}
	}
}

// TestBounds: front, script and row are added up, and compared with the streams.
func TestBounds(t *testing.T) {
	t.Parallel()
	got := example().bounds()
	for _, want := range []string{"takes 80 µs for an answer", "at least 100 µs", "0.80 times", "0.91 times", "takes 80 µs and 80 µs"} {
		if !strings.Contains(got, want) {
			t.Errorf("bounds() = %q, want %q in it", got, want)
		}
	}
	r := example()
	for i := range r.Turns {
		r.Turns[i].Cost.Redis = 0
	}
	r.Lines = nil
	r.summarize()
	if got := r.bounds(); got != "" {
		t.Errorf("without a Redis to be seen: %q", got)
	}
}

// TestStory: the page in docs has a place for everything that is measured, so that no run ends with an error there.
func TestStory(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/benchmarks.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "benchmarks")
	if err = os.WriteFile(dir+".md", page, 0o600); err != nil {
		t.Fatal(err)
	}
	if err = example().write(dir, io.Discard); err != nil { // no README lies there
		t.Fatal(err)
	}
	if err = exampleLimits().write(dir, io.Discard); err != nil {
		t.Fatal(err)
	}
	written, err := os.ReadFile(dir + ".md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(written)
	for _, want := range []string{
		"100 units sold 120 times; 7 orders of users who had one (2 processes)",
		"SIGKILL loses 12,344 of 12,345 accepted orders",
		"(benchmarks/2026-01-02-abc.svg)", "(benchmarks/2026-01-02-abc-limits-sale.svg)",
		"12,345 connections", "connection refused",
		"## Limits", // what is written by hand stays
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if strings.Contains(text, "Not measured yet") {
		t.Error("a section was not replaced")
	}
	for _, link := range []string{
		"2026-01-02-abc.json", "2026-01-02-abc.md", "2026-01-02-abc.svg", "2026-01-02-abc-targets.svg",
		"2026-01-02-abc-limits.json", "2026-01-02-abc-limits.md", "2026-01-02-abc-limits-connections.svg", "2026-01-02-abc-limits-sale.svg",
	} {
		if _, err = os.Stat(filepath.Join(dir, link)); err != nil {
			t.Error(err)
		}
	}
}

func TestReplaceSection(t *testing.T) {
	t.Parallel()
	const page = "before\n<!-- measured: a -->\nold\n<!-- measured until here -->\nbetween\n<!-- measured: b -->\n<!-- measured until here -->\nafter\n"
	got, err := replaceSection(page, "a", "new\n")
	if want := strings.Replace(page, "old", "new", 1); err != nil || got != want {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err = replaceSection(page, "c", ""); err == nil {
		t.Error("a section that is not there is no error")
	}
	if _, err = replaceSection("<!-- measured: a -->\n", "a", ""); err == nil {
		t.Error("a section without an end is no error")
	}
}

// TestReadmes: the READMEs have a place for the figures, in both languages.
func TestReadmes(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	dir := filepath.Join(root, "docs", "benchmarks")
	for _, l := range tongues() {
		page, err := os.ReadFile(filepath.Join("..", l.file))
		if err != nil {
			t.Fatal(err)
		}
		if err = os.WriteFile(filepath.Join(root, l.file), page, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := example().write(dir, io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, l := range tongues() {
		page, err := os.ReadFile(filepath.Join(root, l.file))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"**1,000** ", "| 1,000 | 500 | 400 |", "(docs/benchmarks/2026-01-02-abc.md)", l.stages[0]} {
			if !strings.Contains(string(page), want) {
				t.Errorf("%s does not say %q", l.file, want)
			}
		}
	}
}
