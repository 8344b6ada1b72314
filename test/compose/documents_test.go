package compose

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/config"
)

// documents are what people read, by path from the root.
func documents(t *testing.T) map[string]string {
	t.Helper()
	paths := []string{"README.md", "README.zh-CN.md", "CONTRIBUTING.md", "SECURITY.md"}
	more, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil || len(more) < 5 {
		t.Fatalf("found %v: %v", more, err)
	}
	for _, path := range more {
		paths = append(paths, strings.TrimPrefix(path, root+"/"))
	}
	all := map[string]string{}
	for _, path := range paths {
		all[path] = text(t, path)
	}
	return all
}

// Each picture is shown by a document, or linked from it: one that is not goes stale unseen.
func TestPicturesAreShown(t *testing.T) {
	t.Parallel()
	pictures, err := filepath.Glob(filepath.Join(root, "docs", "images", "*.png"))
	if err != nil || len(pictures) < 20 {
		t.Fatalf("found %v: %v", pictures, err)
	}
	all := strings.Join(slices.Collect(maps.Values(documents(t))), "\n")
	for _, path := range pictures {
		if name := filepath.Base(path); !strings.Contains(all, "images/"+name+")") {
			t.Errorf("no document shows %s", name)
		}
	}
}

// The files that the documents for contributors name exist.
func TestNamedFilesExist(t *testing.T) {
	t.Parallel()
	named := 0
	for _, doc := range []string{"docs/walkthrough.md", "CONTRIBUTING.md", "docs/runbook.md", "docs/operations.md"} {
		for _, path := range found("`((?:cmd|internal|scripts|migrations|web|test|deploy|docs)/[\\w./-]+\\.\\w+)`", text(t, doc)) {
			named++
			if _, err := os.Stat(filepath.Join(root, path)); err != nil {
				t.Errorf("%s names %s: %v", doc, path, err)
			}
		}
	}
	if named < 40 {
		t.Errorf("only %d files are named: is the pattern right?", named)
	}
}

// A setting or a command that a document names exists.
func TestNamedSettingsAndCommandsExist(t *testing.T) {
	t.Parallel()
	known := map[string]bool{ // names that look like settings: a code, and what Kubernetes sets
		"SECKILL_ONLY": true, "SECKILL_SERVICE_HOST": true, "SECKILL_PORT": true,
	}
	for _, row := range config.Table() {
		known[row.Name] = true
	}
	commands := found(`(?m)^\t\t\{"(\w+)", "`, text(t, "cmd/server/command.go"))
	for path, doc := range documents(t) {
		for _, name := range found(`\b(SECKILL_[A-Z_]*[A-Z])\b`, doc) {
			if !known[name] && !strings.HasPrefix(name, "SECKILL_TEST_") {
				t.Errorf("%s names the setting %s, which does not exist", path, name)
			}
		}
		for _, name := range found("`(?:/)?server ([a-z]+)[ `]", doc) {
			if !slices.Contains(commands, name) {
				t.Errorf("%s names the command server %s, which does not exist", path, name)
			}
		}
	}
}

// Both READMEs have the same content: as many sections of each depth, the same figures in the table of benchmarks, and each
// links to the other.
func TestReadmesAgree(t *testing.T) {
	t.Parallel()
	english, chinese := text(t, "README.md"), text(t, "README.zh-CN.md")
	if !strings.Contains(english, "(README.zh-CN.md)") || !strings.Contains(chinese, "(README.md)") {
		t.Error("the READMEs do not lead to each other")
	}
	figures := func(readme string) []string { // those beside the report that they come from
		for section := range strings.SplitSeq(readme, "\n## ") {
			if strings.Contains(section, "(docs/benchmarks/") {
				return found(`(?m)^\|[^|\n]+\| ((?:\d[\d,]*)? ?\|[ \d,|]+)$`, section)
			}
		}
		return nil
	}
	if len(figures(english)) < 4 {
		t.Errorf("found only the figures %q", figures(english))
	}
	if diff := cmp.Diff(figures(english), figures(chinese)); diff != "" {
		t.Errorf("figures of README.md (-) and README.zh-CN.md (+):\n%s", diff)
	}
	reports := func(readme string) []string { return found(`\((docs/benchmarks/[\w.-]+)\)`, readme) }
	if diff := cmp.Diff(reports(english), reports(chinese)); diff != "" {
		t.Errorf("reports that README.md (-) and README.zh-CN.md (+) cite:\n%s", diff)
	}
	sections := func(readme string) int { return len(found(`(?m)^(## )`, readme)) }
	if e, c := sections(english), sections(chinese); e != c {
		t.Errorf("README.md has %d sections, README.zh-CN.md %d", e, c)
	}
}
