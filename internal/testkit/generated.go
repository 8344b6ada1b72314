package testkit

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Generated holds a file to what the program makes of it. begin and end are the whole lines between which it is
// generated; without them the whole file is. With write it is written, as make docs does.
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
		t.Errorf("%s is not what the program says (-program +file); write it with make docs\n%s", path, diff)
	}
}
