package compose

import (
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// Every relative link in a document leads to an existing file, and its anchor to a heading in that file.
func TestDocumentLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	followed := 0
	for _, doc := range markdown(t) {
		for _, link := range links(text(t, doc)) {
			target, err := url.Parse(link)
			if err != nil {
				t.Errorf("%s: %v", doc, err)
				continue
			}
			if target.Scheme != "" {
				continue
			}
			followed++
			file := doc
			if target.Path != "" {
				file = path.Join(path.Dir(doc), target.Path)
			}
			if _, err := os.Stat(filepath.Join(root, file)); err != nil {
				t.Errorf("%s links to %s: %v", doc, link, err)
				continue
			}
			if target.Fragment != "" && !slices.Contains(anchors(text(t, file)), target.Fragment) {
				t.Errorf("%s links to %s: no such heading", doc, link)
			}
		}
	}
	if followed < 60 {
		t.Errorf("only %d links are relative: is the pattern right?", followed)
	}
}

// markdown is every document of the project, by path from the root.
func markdown(t *testing.T) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{".git", "node_modules", "bin", "data"}, d.Name()):
			return fs.SkipDir
		case !d.IsDir() && filepath.Ext(file) == ".md":
			all = append(all, filepath.ToSlash(strings.TrimPrefix(file, root+string(filepath.Separator))))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// links returns the targets of a document's links and pictures, except in code.
func links(document string) []string {
	document = regexp.MustCompile("(?s)(^|\n)```.*?\n```").ReplaceAllString(document, "")
	document = regexp.MustCompile("`[^`]*`").ReplaceAllString(document, "")
	return found(`\]\(([^)\s]+)\)`, document)
}

// anchors returns the anchors of a document's headings, as GitHub generates them.
func anchors(document string) []string {
	document = regexp.MustCompile("(?s)(^|\n)```.*?\n```").ReplaceAllString(document, "")
	var all []string
	for _, match := range regexp.MustCompile(`(?m)^#+ +(.+?) *$`).FindAllStringSubmatch(document, -1) {
		heading := regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`).ReplaceAllString(match[1], "$1")
		name := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, heading)
		unique := name
		for n := 1; slices.Contains(all, unique); n++ {
			unique = name + "-" + strconv.Itoa(n)
		}
		all = append(all, unique)
	}
	return all
}
