package version_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"seckill/lab/version"
)

// clone makes a clone with three commits. The server of each prints the commit's number, but the last one does not
// build.
func clone(t *testing.T) (dir string, commits []string) {
	t.Helper()
	dir = t.TempDir()
	run(t, dir, "git", "init", "--quiet")
	for name, text := range map[string]string{
		"go.mod": "module small\n\ngo 1.26\n", "cmd/server/number.go": "package main\n\nconst number = \"one\"\n",
		"cmd/server/main.go": "package main\n\nimport \"os\"\n\nfunc main() { _, _ = os.Stdout.WriteString(number) }\n",
	} {
		put(t, filepath.Join(dir, name), text)
	}
	for _, text := range []string{"", "package main\n\nconst number = \"two\"\n", "this does not build\n"} {
		if text != "" {
			put(t, filepath.Join(dir, "cmd", "server", "number.go"), text)
		}
		run(t, dir, "git", "add", ".")
		run(t, dir, "git", "-c", "user.name=a", "-c", "user.email=a@example", "commit", "--quiet", "-m", "one more")
		commits = append(commits, run(t, dir, "git", "rev-parse", "HEAD"))
	}
	return dir, commits
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// TestBuild builds a commit, whatever is in the work tree.
func TestBuild(t *testing.T) {
	t.Parallel()
	dir, commits := clone(t)
	tests := []struct{ name, ref, says string }{
		{"the first commit", commits[0], "one"},
		{"an abbreviation", commits[1][:7], "two"},
		{"a commit that does not build", commits[2], ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "server")
			err := version.Build(t.Context(), dir, tt.ref, file)
			if (err == nil) != (tt.says != "") {
				t.Fatalf("error %v", err)
			}
			if err != nil {
				return
			}
			if says := run(t, dir, file); says != tt.says {
				t.Errorf("it says %q, want %q", says, tt.says)
			}
		})
	}
}

// TestNoCommit: a commit that the clone does not have is reported, with what to do.
func TestNoCommit(t *testing.T) {
	t.Parallel()
	dir, commits := clone(t)
	shallow := filepath.Join(t.TempDir(), "shallow")
	run(t, dir, "git", "clone", "--quiet", "--depth=1", "file://"+dir, shallow)
	tests := []struct {
		name, dir, ref string
		is             error
		says           string
	}{
		{"made up", dir, "0123456789abcdef0123456789abcdef01234567", version.ErrNoCommit, "0123456"},
		{"an option", dir, "--help", version.ErrNoCommit, "--help"},
		{"behind the end of a shallow clone", shallow, commits[0], version.ErrNoCommit, "git fetch --unshallow"},
		{"no clone", t.TempDir(), commits[0], nil, "not in a git clone"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := version.Build(t.Context(), tt.dir, tt.ref, filepath.Join(t.TempDir(), "server"))
			if err == nil || tt.is != nil && !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %v, want %v that says %q", err, tt.is, tt.says)
			}
		})
	}
}

// TestDescribe: uncommitted changes are visible in the description.
func TestDescribe(t *testing.T) {
	t.Parallel()
	dir, commits := clone(t)
	clean, err := version.Describe(t.Context(), dir)
	if err != nil || clean != commits[2][:7] {
		t.Errorf("described as %q, %v; want %.7s", clean, err, commits[2])
	}
	put(t, filepath.Join(dir, "go.mod"), "module other\n")
	dirty, err := version.Describe(t.Context(), dir)
	if err != nil || dirty != clean+"-dirty" {
		t.Errorf("described as %q, %v; want %s-dirty", dirty, err, clean)
	}
}
