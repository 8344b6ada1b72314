package report

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seckill/lab/bench/candidate"
	"seckill/lab/bench/result"
)

// example returns a comparison with something in every part.
func example() result.Run {
	var trials []result.Trial
	for _, name := range candidate.All() {
		trials = append(trials, result.Trial{Candidate: name, Round: 1, Figures: map[result.Name]float64{
			result.Rate: 1000, result.P50: 1, result.P99: 2, result.RecordedMeanwhile: 500,
			result.RecordedDraining: 400, result.Backlog: 4000, result.Drain: 2, result.RowP99: 8,
			result.WaitingBytes: 200, result.RecordedBytes: 90, result.LoadProcessors: 0.5, result.StoreCalls: 0.0005,
			result.LoadTime: 10, result.ServerTime: 50, result.RedisTime: 8, result.DatabaseTime: 12,
		}})
	}
	return result.Run{
		Machine: result.Machine{
			Date: "2026-01-02T03:04:05Z", Commit: "abc", Durability: map[string]string{"redis appendonly": "yes"},
		},
		Plan: result.Plan{Rounds: 5, Seconds: 4, Connections: 128, Sales: 1000, Buyers: 1_000_000},
		Comparison: &result.Comparison{
			Candidates: result.Collect(trials),
			Contention: []result.Contention{{
				Candidate: candidate.UserLock + candidate.TwoOfThem, Processes: 2, Units: 100, Orders: 120,
				Oversold: 20, Duplicates: 7,
			}},
			Crashes: []result.Crash{
				{Candidate: candidate.Memory, Killed: "the process", Accepted: 12345, Recorded: 1, Lost: 12344},
			},
		},
	}
}

// withBefore returns example with an older service whose orders take longer.
func withBefore() result.Run {
	run := example()
	run.Before = &result.Before{
		Commit: "old1234", Comparison: result.Comparison{Candidates: example().Comparison.Candidates},
	}
	for i, s := range run.Before.Candidates {
		for j, f := range s.Figures {
			if s.Candidate == candidate.Service && f.Name == result.ServerTime {
				run.Before.Candidates[i].Figures[j].Samples = []float64{99}
			}
		}
	}
	return run
}

func exampleLimits() result.Run {
	point := func(name string, rate float64) result.Trial {
		return result.Trial{Candidate: name, At: 16, Round: 1, Figures: map[result.Name]float64{result.Rate: rate}}
	}
	return result.Run{
		Machine: result.Machine{Date: "2026-01-02T03:04:05Z", Commit: "abc"},
		Limits: &result.Limits{
			Connections: result.Collect([]result.Trial{point(candidate.Gin, 3), point(candidate.Service, 2)}),
			Stampede:    result.Stampede{Connections: 12345, FirstError: "connection refused"},
			Sale: result.LongSale{Buyers: 1000, Units: 10, Progress: []result.Moment{
				{}, {Second: 1.5, Accepted: 10, Refused: 20, Recorded: 9},
			}},
		},
	}
}

// TestTargetsMeasured: every target is derived from what the candidates measure.
func TestTargetsMeasured(t *testing.T) {
	t.Parallel()
	for _, target := range compared(example()).Targets {
		if len(target.Samples) == 0 {
			t.Errorf("%s, %s: not measured", target.ID, target.What)
		}
	}
}

// TestBounds: HTTP side, HMAC, script and row are added up, and compared with the cost of an order.
func TestBounds(t *testing.T) {
	t.Parallel()
	run := example()
	got := compared(run).bounds()
	for _, want := range []string{
		"is 180 µs", "load generator 80 µs", "HMAC 80.0 µs", "script 8 µs", "insert 12 µs", "This service takes 80 µs",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("bounds() = %q, want %q in it", got, want)
		}
	}
	for _, s := range run.Comparison.Candidates {
		for i, f := range s.Figures {
			if f.Name == result.RedisTime {
				s.Figures[i].Samples = nil
			}
		}
	}
	if got := compared(run).bounds(); got != "" {
		t.Errorf("with a Redis on another machine: %q", got)
	}
}

// TestPage: the page in docs has a section for everything that is measured, so that no run ends with an error there.
func TestPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/benchmarks.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "lab", "results")
	if err = os.MkdirAll(filepath.Dir(Page(dir)), 0o700); err != nil {
		t.Fatal(err)
	}
	if err = os.WriteFile(Page(dir), page, 0o600); err != nil {
		t.Fatal(err)
	}
	if err = Write(withBefore(), dir, io.Discard); err != nil { // there is no README
		t.Fatal(err)
	}
	if err = Write(exampleLimits(), dir, io.Discard); err != nil {
		t.Fatal(err)
	}
	written, err := os.ReadFile(Page(dir))
	if err != nil {
		t.Fatal(err)
	}
	text := string(written)
	for _, want := range []string{
		"100 units sold 120 times; 7 orders of users who had one (2 processes)",
		"SIGKILL loses 12,344 of 12,345 accepted orders",
		"(../lab/results/2026-01-02-abc.md)", "(../lab/results/2026-01-02-abc-limits.md)",
		"12,345 connections", "connection refused",
		"## Limits", // handwritten parts stay
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if strings.Contains(text, "Not measured yet") {
		t.Error("a section was not replaced")
	}
	for _, link := range []string{
		"2026-01-02-abc.json", "2026-01-02-abc.md", "2026-01-02-abc-limits.json", "2026-01-02-abc-limits.md",
	} {
		if _, err = os.Stat(filepath.Join(dir, link)); err != nil {
			t.Error(err)
		}
	}
	for name, want := range map[string]result.Run{
		"2026-01-02-abc.json": withBefore(), "2026-01-02-abc-limits.json": exampleLimits(),
	} {
		got, err := Read(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if got.Comparison != nil {
			got.Comparison.Targets = nil // derived
		}
		if got.Limits != nil {
			got.Limits.Targets = nil // the same
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s as read again differs (-want +got):\n%s", name, diff)
		}
	}
}

// TestLocksPage: the notes on the locks have a place for the table of overlaps.
func TestLocksPage(t *testing.T) {
	t.Parallel()
	notes, err := os.ReadFile(LocksPage("../../results"))
	if err != nil {
		t.Fatal(err)
	}
	page := filepath.Join(t.TempDir(), "locks.md")
	if err = os.WriteFile(page, notes, 0o600); err != nil {
		t.Fatal(err)
	}
	table := OverlapTable([]result.Overlap{{Candidate: candidate.Ownerless, Turns: 12345}})
	if _, err = UpdatePage(page, map[string]string{"overlaps": table}); err != nil {
		t.Fatal(err)
	}
	if written, err := os.ReadFile(page); err != nil || !strings.Contains(string(written), "12345") {
		t.Errorf("the notes have no overlaps: %v", err)
	}
}

// TestRead: a file that is no result, or has an earlier format, is an error.
func TestRead(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"not JSON": "#", "another format": `{"machine":{},"turns":[]}`} {
		path := filepath.Join(t.TempDir(), "x.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(path); err == nil {
			t.Errorf("%s is no error", name)
		}
	}
}

// TestReadmes: the READMEs have a section for the figures, in both languages.
func TestReadmes(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	dir := filepath.Join(root, "lab", "results")
	for _, w := range wordings() {
		page, err := os.ReadFile(filepath.Join("..", "..", "..", w.file))
		if err != nil {
			t.Fatal(err)
		}
		if err = os.WriteFile(filepath.Join(root, w.file), page, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := Write(example(), dir, io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, w := range wordings() {
		page, err := os.ReadFile(filepath.Join(root, w.file))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{
			"**1,000** ", "| 1,000 | 500 | 400 |", "(lab/results/2026-01-02-abc.md)", w.stages[0],
		} {
			if !strings.Contains(string(page), want) {
				t.Errorf("%s does not say %q", w.file, want)
			}
		}
	}
}

// TestBefore: if an older commit's service was measured too, the report has all targets before and after.
func TestBefore(t *testing.T) {
	t.Parallel()
	run := withBefore()
	dir := filepath.Join(t.TempDir(), "results")
	if err := Write(run, dir, io.Discard); err != nil {
		t.Fatal(err)
	}
	report, err := filepath.Glob(filepath.Join(dir, "*.md"))
	if err != nil || len(report) != 1 {
		t.Fatal(report, err)
	}
	written, err := os.ReadFile(report[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"Before, old1234", "After, abc", "| P15", "order / floor of a purchase",
		"| 99.0 (99.0–99.0)", "| 50.0 (50.0–50.0)",
	} {
		if !strings.Contains(string(written), want) {
			t.Errorf("the report has no %q:\n%s", want, written)
		}
	}
	stored, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(stored) != 1 {
		t.Fatal(stored, err)
	}
	again, err := Read(stored[0])
	if err != nil || again.Before == nil || beforeTable(again) != beforeTable(run) {
		t.Errorf("read again: %v, %+v", err, again.Before)
	}
}
