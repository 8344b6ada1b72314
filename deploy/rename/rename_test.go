package main

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const elsewhere = "github.com/example/coupons"

// TestRename renames a copy of this project. In each of its modules all imports, the tests' too, lead to a package, and
// nothing names the old path any more. Renaming back gives the same bytes.
func TestRename(t *testing.T) {
	t.Parallel()
	copied := testkit.CopyCheckout(t)
	before := contents(t, copied)
	old, err := modulePath(copied)
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	if err := run(t.Context(), []string{"-C", copied, elsewhere}, &said, io.Discard); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(said.String(), old+" is "+elsewhere+" now") {
		t.Errorf("it says %q", said.String())
	}
	for _, module := range []string{".", "lab", "clients/go", "deploy/kubernetes/check", "test/apart"} {
		list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-test", "./...")
		list.Dir = filepath.Join(copied, module)
		out, err := list.CombinedOutput()
		if err != nil || !strings.Contains(string(out), elsewhere) {
			t.Errorf("the packages of %s: %v\n%.2000s", module, err, out)
		}
	}
	named := regexp.MustCompile(`[^\w./:@{-]` + regexp.QuoteMeta(old) + `/[a-z(]`)
	for name, text := range contents(t, copied) {
		if found := named.FindString(text); found != "" && old != elsewhere {
			t.Errorf("%s still has %q", name, found)
		}
	}
	if _, err := rename(copied, elsewhere, old); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, contents(t, copied)); diff != "" {
		t.Errorf("renamed there and back (-before +after):\n%.2000s", diff)
	}
}

// contents are the texts of a folder's files, by name, but for those that are not renamed.
func contents(t *testing.T, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(root, path)
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains(skipped(), name):
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		text, err := os.ReadFile(path)
		all[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestPathsThatCannotBeFetched: a path without a host, or that is none, is refused, and nothing is changed.
func TestPathsThatCannotBeFetched(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	file := filepath.Join(root, "go.mod")
	const text = "module seckill\n\ngo 1.26\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{
		"no host": {"coupons"}, "no dot": {"you/coupons"}, "a URL": {"https://github.com/you/coupons"},
		"a space": {"github.com/you/my coupons"}, "none": {}, "two": {elsewhere, elsewhere},
		"a flag": {"-x", elsewhere},
	} {
		if err := run(t.Context(), append([]string{"-C", root}, args...), io.Discard, io.Discard); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != text {
		t.Errorf("go.mod is %q, %v", got, err)
	}
}
