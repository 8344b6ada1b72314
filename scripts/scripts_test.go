package scripts

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestScriptsNeedWhatTheyUse checks that each script lists exactly the preludes that it uses directly.
func TestScriptsNeedWhatTheyUse(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.lua")
	if err != nil || len(files) == 0 {
		t.Fatalf("scripts %v: %v", files, err)
	}
	offers := map[string]*regexp.Regexp{"limits": declared(limits())} // the names that a prelude declares
	for _, file := range files {
		if text := read(strings.TrimSuffix(file, ".lua")); strings.HasPrefix(text, "-- Prelude ") {
			offers[strings.TrimSuffix(file, ".lua")] = declared(text)
		}
	}
	for _, file := range files {
		name := strings.TrimSuffix(file, ".lua")
		var used []string
		for prelude, declared := range offers {
			if prelude != name && declared.MatchString(code(read(name))) {
				used = append(used, prelude)
			}
		}
		slices.Sort(used)
		needed := parts(name, nil)
		needed = slices.DeleteFunc(needed[:len(needed)-1], func(part string) bool {
			return !slices.Contains(used, part) && neededByAnother(part, needed)
		})
		slices.Sort(needed)
		if !slices.Equal(used, needed) {
			t.Errorf("%s uses %v and needs %v", file, used, needed)
		}
	}
}

// neededByAnother reports whether another part needs this one.
func neededByAnother(part string, all []string) bool {
	return slices.ContainsFunc(all, func(other string) bool {
		return other != part && slices.Contains(parts(other, nil), part)
	})
}

// declared matches the names that a prelude declares.
func declared(text string) *regexp.Regexp {
	var names []string
	for _, list := range regexp.MustCompile(
		`(?m)^local (?:function )?([\w, ]+?)(?: =|\(| --|$)`).FindAllStringSubmatch(text, -1) {
		names = append(names, strings.Split(list[1], ", ")...)
	}
	return regexp.MustCompile(`\b(?:` + strings.Join(names, "|") + `)\b`)
}

// code returns a script without comments and strings.
func code(text string) string {
	return regexp.MustCompile(`(?m)--.*$|'[^'\n]*'`).ReplaceAllString(text, "")
}

// TestSourceHasEachPreludeOnce checks that a prelude needed by several parts is included once, before all of them.
func TestSourceHasEachPreludeOnce(t *testing.T) {
	t.Parallel()
	want := []string{"clock", "number", "rebuild", "round_progress"}
	if diff := cmp.Diff(want, parts("round_progress", nil)); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
	if source := Source("round_progress"); strings.Count(source, "local function number(") != 1 {
		t.Errorf("not one number:\n%s", source)
	}
}
