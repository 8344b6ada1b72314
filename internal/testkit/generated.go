package testkit

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Generated fails if a file differs from the generated text. begin and end are the complete lines around the generated
// part; if empty, the whole file is generated. With write it updates the file, as make docs does.
func Generated(t testing.TB, path, begin, end, want string, write bool) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil && !write {
		t.Fatal(err)
	}
	before, rest, hasBegin := strings.Cut(string(text), begin)
	got, after, hasEnd := strings.Cut(rest, end)
	switch {
	case begin == "" && end == "":
		before, got, after = "", string(text), ""
	case !hasBegin || !hasEnd:
		t.Fatalf("%s has no lines %q and %q", path, strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	if write {
		if err := os.WriteFile(path, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s differs from the generated text (-generated +file); run make docs\n%s", path, diff)
	}
}
