package pages

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"seckill/web"
)

// TestWeight: a phone with a slow connection loads all pages together quickly.
func TestWeight(t *testing.T) {
	t.Parallel()
	const most = 150_000 // bytes, compressed
	p, err := New(web.FS, Site{})
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for path, f := range p.files {
		if strings.Contains(path, "LICENSE") || strings.HasSuffix(path, ".md") {
			continue // no page loads them
		}
		n := len(f.body)
		if f.zipped != nil {
			n = len(f.zipped())
		}
		t.Logf("%7d %s", n, path)
		total += n
	}
	t.Logf("%7d in all", total)
	if total > most {
		t.Errorf("the pages have %d bytes together, more than %d", total, most)
	}
}

// TestNoForeignHost: no page and nothing that it loads names another host, so that none learns of the visitors. The policy
// forbids it too; this shows it sooner.
func TestNoForeignHost(t *testing.T) {
	t.Parallel()
	address := regexp.MustCompile(`(?i)(?:https?:)?//[a-z0-9-]+(?:\.[a-z0-9-]+)+[^\s"'` + "`" + `)]*`)
	namespaces := regexp.MustCompile(`^http://www\.w3\.org/(2000/svg|1999/xhtml|1999/xlink|1998/Math/MathML)$`) // names, never fetched
	err := fs.WalkDir(web.FS, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.Contains(name, "LICENSE") || strings.HasSuffix(name, ".md") {
			return err
		}
		body, err := fs.ReadFile(web.FS, name)
		for _, found := range address.FindAllString(string(body), -1) {
			if !namespaces.MatchString(found) {
				t.Errorf("%s names %s", name, found)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestNothingInline: the policy forbids inline scripts and styles, so there must be none.
func TestNothingInline(t *testing.T) {
	t.Parallel()
	inline := regexp.MustCompile(`(?i)<style|<script(?:>|\s[^>]*[^/]>\s*[^<\s])|\sstyle="|\son[a-z]+="|javascript:`)
	names, err := fs.Glob(web.FS, "*.html")
	if err != nil || len(names) == 0 {
		t.Fatalf("pages %v: %v", names, err)
	}
	for _, name := range names {
		body, err := fs.ReadFile(web.FS, name)
		if err != nil {
			t.Fatal(err)
		}
		if found := inline.FindString(string(body)); found != "" {
			t.Errorf("%s has %q", name, found)
		}
	}
}
