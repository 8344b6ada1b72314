package compose

import (
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// privateTerms are words that this project once had for known things, with the field's word. A search for the field's word
// has to find the code (the glossary is in docs/architecture.md).
func privateTerms() map[string]string {
	return map[string]string{
		"waitroom": "notifier", "crier": "stats flusher", "diary": "recent accepts", "testimony": "recovery report",
		"witness": "reporter", "keeper": "reconciler", "complaints": "repair queue", "clerk": "order service",
		"cashier": "payment service", "storefront": "direct sales", "convoy": "shared calls", "passenger": "pending batch",
		"tongue": "language", "workbench": "tool env", "errand": "request", "volley": "burst", "contestant": "candidate",
		"whoever": "the user, the caller", "of whom": "whose, of which",
	}
}

// storedTerms are those of them that stay, by file: words in a store, in an interface or in a measured report.
func storedTerms() map[string][]string {
	const actor, check = "cashier", "keeper" // what uses each
	return map[string][]string{
		"CHANGELOG.md":               {actor, check},
		"test/compose/terms_test.go": slices.Collect(maps.Keys(privateTerms())),
	}
}

// term is a private term in a text.
type term struct {
	line int
	word string // as privateTerms has it
}

// finder finds private terms, also in the plural and as part of a name such as newKeeper.
type finder struct {
	names   []string
	pattern *regexp.Regexp // with a group for each name
}

func newFinder() finder {
	names := slices.Sorted(maps.Keys(privateTerms()))
	groups := make([]string, len(names))
	for i, name := range names {
		forms := name + "(?-i:e?s)?"
		if stem, found := strings.CutSuffix(name, "y"); found {
			forms = stem + "(?:y(?-i:s)?|ies)"
		}
		groups[i] = "(" + strings.ReplaceAll(forms, " ", `[\s/*#-]+`) + ")" // a comment may break between two words
	}
	return finder{names, regexp.MustCompile("(?i)" + strings.Join(groups, "|"))}
}

func (f finder) find(text string) []term {
	var all []term
	for _, m := range f.pattern.FindAllStringSubmatchIndex(text, -1) {
		inner := m[0] > 0 && isLower(text[m[0]]) && (isLower(text[m[0]-1]) || isUpper(text[m[0]-1]))
		if inner || m[1] < len(text) && isLower(text[m[1]]) {
			continue // part of a longer word
		}
		for i, name := range f.names {
			if m[2+2*i] >= 0 {
				all = append(all, term{line: 1 + strings.Count(text[:m[0]], "\n"), word: name})
			}
		}
	}
	return all
}

func isLower(b byte) bool { return 'a' <= b && b <= 'z' }
func isUpper(b byte) bool { return 'A' <= b && b <= 'Z' }

func TestFinder(t *testing.T) {
	t.Parallel()
	const text = "// A keeper, two Keepers, and newKeeper\nDIARY testimonies witnesses\n// users, one of\n// whom\nThe JSONClerk\n" +
		"timekeeper keepers_total, maxConvoys, whoever, eyewitness, errands, errandless"
	want := []term{
		{1, "keeper"},
		{1, "keeper"},
		{1, "keeper"},
		{2, "diary"},
		{2, "testimony"},
		{2, "witness"},
		{3, "of whom"},
		{5, "clerk"},
		{6, "keeper"},
		{6, "convoy"},
		{6, "whoever"},
		{6, "errand"},
	}
	if diff := cmp.Diff(want, newFinder().find(text), cmp.AllowUnexported(term{})); diff != "" {
		t.Errorf("terms (-want +got):\n%s", diff)
	}
}

// Code and documents name things by the field's words.
func TestNoPrivateTerms(t *testing.T) {
	t.Parallel()
	stored, terms, private := storedTerms(), privateTerms(), newFinder()
	for _, file := range sources(t) {
		used := map[string]bool{}
		for _, found := range private.find(text(t, file)) {
			used[found.word] = true
			if !slices.Contains(stored[file], found.word) {
				t.Errorf("%s:%d: %q: the field's word is %q", file, found.line, found.word, terms[found.word])
			}
		}
		for _, word := range stored[file] {
			if !used[word] {
				t.Errorf("%s no longer has %q: take it off the list", file, word)
			}
		}
		delete(stored, file)
	}
	for file := range stored {
		t.Errorf("%s is on the list and does not exist", file)
	}
}

// sources are the project's texts for people, by path from the root. Those of other projects, of older versions and of measured
// runs are left out.
func sources(t *testing.T) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		name := filepath.ToSlash(strings.TrimPrefix(file, root+string(filepath.Separator)))
		switch {
		case err != nil:
			return err
		case d.IsDir() && (slices.Contains([]string{".git", "node_modules", "bin", "data", "vendor", "testdata"}, d.Name()) ||
			name == "docs/benchmarks"):
			return fs.SkipDir
		case !d.IsDir() && slices.Contains([]string{".go", ".lua", ".sql", ".js", ".md"}, filepath.Ext(file)):
			all = append(all, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 500 {
		t.Errorf("only %d files: is the pattern right?", len(all))
	}
	return all
}
