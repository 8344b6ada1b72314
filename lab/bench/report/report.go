// Package report shows results of the benchmark: as tables on the terminal, as Markdown and JSON in a directory, and as
// figures in the pages around that. It derives ratios, spreads and verdicts from plain results (lab/bench/result) and
// does not know how they were measured, so a stored result can be reported again.
package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"seckill/lab/bench/result"
)

// folder is the reports' directory, seen from the page.
const folder = "../lab/results/"

// Read reads a result that Write has stored as JSON.
func Read(path string) (run result.Run, err error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return run, err
	}
	if err = json.Unmarshal(raw, &run); err != nil {
		return run, fmt.Errorf("%s: %w", path, err)
	}
	if run.Comparison == nil && run.Limits == nil {
		return run, fmt.Errorf("%s: not a result of the benchmark", path)
	}
	return run, nil
}

// Print prints the result's tables.
func Print(run result.Run, w io.Writer) {
	if run.Comparison != nil {
		compared(run).tables(w)
		if run.Before != nil {
			fmt.Fprintf(w, "\n%s", beforeTable(run))
		}
	}
	if run.Limits != nil {
		bounded(run).tables(w)
	}
}

// Write writes the result into the directory as Markdown and JSON, named by date and commit. It also updates the
// figures in docs/benchmarks.md and in the READMEs of the project two levels above it, if these exist.
func Write(run result.Run, dir string, progress io.Writer) error {
	if run.Comparison != nil {
		if err := writeComparison(run, dir, progress); err != nil {
			return err
		}
	}
	if run.Limits != nil {
		return writeLimits(run, dir, progress)
	}
	return nil
}

// comparedBefore derives the targets from the comparison with the service of an older commit.
func comparedBefore(run result.Run) comparison {
	run.Comparison = &run.Before.Comparison
	return compared(run)
}

// compared derives the targets from a run's comparison.
func compared(run result.Run) comparison {
	c := *run.Comparison
	derived := comparison{&c, run.Machine, run.Plan}
	c.Targets = derived.targets()
	return derived
}

func writeComparison(run result.Run, dir string, progress io.Writer) error {
	c := compared(run)
	name := fileName(run.Machine)
	page := c.markdown()
	if run.Before != nil {
		page += beforeSection(run)
	}
	raw, err := marshal(result.Run{Machine: run.Machine, Plan: run.Plan, Comparison: c.Comparison, Before: run.Before})
	if err != nil {
		return err
	}
	if err = writeFiles(dir, map[string]string{
		name + ".json": raw,
		name + ".md":   page,
	}, progress); err != nil {
		return err
	}
	if err = update(Page(dir), c.sections(name), progress); err != nil {
		return err
	}
	for _, w := range wordings() {
		if err = update(filepath.Join(dir, "..", "..", w.file), c.readme(name, w), progress); err != nil {
			return err
		}
	}
	return nil
}

func writeLimits(run result.Run, dir string, progress io.Writer) error {
	l := bounded(run)
	name := fileName(run.Machine) + "-limits"
	raw, err := marshal(result.Run{Machine: run.Machine, Plan: run.Plan, Limits: l.Limits})
	if err != nil {
		return err
	}
	if err = writeFiles(dir, map[string]string{
		name + ".json": raw,
		name + ".md":   l.markdown(),
	}, progress); err != nil {
		return err
	}
	return update(Page(dir), l.sections(name), progress)
}

// Page is the path of the page that explains the figures of the reports in dir.
func Page(dir string) string { return filepath.Join(dir, "..", "..", "docs", "benchmarks.md") }

// LocksPage is the path of the notes that have the table of overlaps, for reports in dir.
func LocksPage(dir string) string { return filepath.Join(dir, "..", "notes", "locks.md") }

func marshal(run result.Run) (string, error) {
	raw, err := json.MarshalIndent(run, "", "  ")
	return string(raw) + "\n", err
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

func update(path string, sections map[string]string, progress io.Writer) error {
	updated, err := UpdatePage(path, sections)
	if updated && err == nil {
		fmt.Fprintln(progress, "written:", path)
	}
	return err
}
