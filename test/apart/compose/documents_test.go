package compose

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"seckill/internal/config"
	"seckill/internal/features"
)

// documents are the texts for people, by path from the root.
func documents(t *testing.T) map[string]string {
	t.Helper()
	paths := []string{"README.md", "README.zh-CN.md", "CONTRIBUTING.md", "SECURITY.md"}
	for _, pattern := range []string{"docs/*.md", "lab/notes/*.md", "internal/lock/README.md"} {
		more, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(more) == 0 {
			t.Fatalf("%s: found %v: %v", pattern, more, err)
		}
		for _, path := range more {
			paths = append(paths, strings.TrimPrefix(path, root+"/"))
		}
	}
	all := map[string]string{}
	for _, path := range paths {
		all[path] = text(t, path)
	}
	return all
}

// Files named by the documents for contributors exist.
func TestNamedFilesExist(t *testing.T) {
	t.Parallel()
	named := 0
	for _, doc := range []string{
		"docs/walkthrough.md", "CONTRIBUTING.md", "docs/runbook.md", "docs/operations.md", "docs/tutorial.md",
		"docs/tutorial.zh-CN.md",
	} {
		for _, path := range found("`((?:cmd|internal|scripts|migrations|web|test|lab|deploy|docs)/[\\w./-]+\\.\\w+)`",
			text(t, doc)) {
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

// Tests named by a document exist.
func TestNamedTestsExist(t *testing.T) {
	t.Parallel()
	exist, named := map[string]bool{}, 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, name := range found(`(?m)^func (Test[A-Z]\w*)\(`, string(source)) {
			exist[name] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for path, doc := range documents(t) {
		for _, name := range found("`(Test[A-Z]\\w*)`", doc) {
			named++
			if !exist[name] {
				t.Errorf("%s names the test %s, which does not exist", path, name)
			}
		}
	}
	if named < 40 {
		t.Errorf("only %d tests are named: is the pattern right?", named)
	}
}

// Settings and commands named by a document exist.
func TestNamedSettingsAndCommandsExist(t *testing.T) {
	t.Parallel()
	known := map[string]bool{ // names that look like settings: a code, what Kubernetes sets, and seckill-stripe's
		"SECKILL_ONLY": true, "SECKILL_SERVICE_HOST": true, "SECKILL_PORT": true, "SECKILL_URL": true,
	}
	for _, row := range config.Table() {
		known[row.Name] = true
		known[row.Name+"_FILE"] = strings.HasSuffix(row.Name, "_SECRET") || strings.HasSuffix(row.Name, "PASSWORD")
	}
	commands := found(`(?m)^\t\t\{"(\w+)", `, text(t, "cmd/server/command.go"))
	for _, c := range features.List().Commands() {
		commands = append(commands, c.Name)
	}
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

// Make targets named by a document exist.
func TestNamedTargetsExist(t *testing.T) {
	t.Parallel()
	targets, named := makeTargets(t), 0
	for path, doc := range documents(t) {
		for _, target := range found("(?:`|(?m:^))make ((?:-C lab )?[a-z][a-z-]*)", doc) {
			named++
			if !slices.Contains(targets, target) {
				t.Errorf("%s names make %s, which does not exist", path, target)
			}
		}
	}
	if named < 40 {
		t.Errorf("only %d targets are named: is the pattern right?", named)
	}
}
