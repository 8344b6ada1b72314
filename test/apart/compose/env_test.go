package compose

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// makeEnv runs `make env` in a directory with only the files that it needs, with bin first in PATH.
func makeEnv(t *testing.T, dir, bin string) (output string, err error) {
	t.Helper()
	for _, name := range []string{"Makefile", ".env.example"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "make", "env")
	cmd.Dir = dir
	// Removes the variables of the make that runs this test.
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "MAKEFLAGS=", "MAKELEVEL=", "MAKEFILES=")
	said, err := cmd.CombinedOutput()
	return string(said), err
}

// leftovers are the files in dir that begin with .env, except the example.
func leftovers(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, ".env*"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, path := range found {
		if name := filepath.Base(path); name != ".env.example" {
			names = append(names, name)
		}
	}
	return names
}

func TestMakeEnvFillsEverySecret(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if output, err := makeEnv(t, dir, t.TempDir()); err != nil {
		t.Fatalf("make env: %v\n%s", err, output)
	}
	file := filepath.Join(dir, ".env")
	text, err := os.ReadFile(filepath.Clean(file))
	if err != nil {
		t.Fatal(err)
	}
	given := map[string]bool{}
	for _, secret := range secrets {
		_, rest, _ := strings.Cut(string(text), "\n"+secret+"=")
		value, _, _ := strings.Cut(rest, "\n")
		if len(value) != 64 || given[value] {
			t.Errorf("%s is %q, want 32 bytes of its own in hexadecimal", secret, value)
		}
		given[value] = true
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode is %v (%v), want 0600", info.Mode(), err)
	}
	if got := leftovers(t, dir); len(got) != 1 {
		t.Errorf("files are %v, want .env only", got)
	}

	if output, err := makeEnv(t, dir, t.TempDir()); err != nil {
		t.Fatalf("make env again: %v\n%s", err, output)
	}
	if again, err := os.ReadFile(filepath.Clean(file)); err != nil || !bytes.Equal(again, text) {
		t.Errorf("the second run changed the secrets (%v)", err)
	}
}

// An incomplete .env is worse than none: the stack would start with empty secrets.
func TestMakeEnvThatFailsLeavesNothing(t *testing.T) {
	t.Parallel()
	dir, bin := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "od"), []byte("#!/bin/sh\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if output, err := makeEnv(t, dir, bin); err == nil {
		t.Errorf("make env succeeded without random numbers:\n%s", output)
	}
	if got := leftovers(t, dir); len(got) != 0 {
		t.Errorf("left behind: %v", got)
	}
}
