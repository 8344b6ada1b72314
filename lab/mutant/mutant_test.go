package mutant

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOverlay: a file can be broken twice, and a file in which the text is ambiguous is not broken.
func TestOverlay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "a.go")
	if err := os.WriteFile(file, []byte("one two, two three"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		changes []Change
		want    string // of the broken file; empty: the change does not apply
	}{
		{"one change", []Change{{file, "one", "1"}}, "1 two, two three"},
		{"two changes of one file", []Change{{file, "one", "1"}, {file, "three", "3"}}, "1 two, two 3"},
		{"a change of what the first made", []Change{{file, "one", "1"}, {file, "1 two", "2"}}, "2, two three"},
		{"a text that stands twice", []Change{{file, "two", "2"}}, ""},
		{"a text that is gone", []Change{{file, "four", "4"}}, ""},
		{"a file that is gone", []Change{{file + "x", "one", "1"}}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := Mutant{Name: c.name, Changes: c.changes}
			if err := Check([]Mutant{m}); (err == nil) != (c.want != "") {
				t.Errorf("Check returns %v", err)
			}
			to := t.TempDir()
			list, err := m.overlay(to)
			if c.want == "" {
				if err == nil {
					t.Error("it applies")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			names, err := os.ReadFile(list)
			if err != nil {
				t.Fatal(err)
			}
			broken := filepath.Join(to, "0-a.go")
			if got, err := os.ReadFile(broken); string(got) != c.want || err != nil {
				t.Errorf("the broken file is %q (%v), want %q", got, err, c.want)
			}
			if want := `"` + file + `":"` + broken + `"`; !strings.Contains(string(names), want) {
				t.Errorf("the list is %s, want it to have %s", names, want)
			}
		})
	}
}
