package pages

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"seckill/web"
)

// TestWeight limits the size of the buyer's page, for phones with a slow connection, and of all pages together.
func TestWeight(t *testing.T) {
	t.Parallel()
	// Limits in bytes, compressed. The scripts for signing in are loaded only if there are identity providers.
	const mostOfBuyers, mostOfSignIn, most, mostOfDocs = 60_000, 8_000, 261_000, 1_500_000
	p, err := New(web.FS, Site{})
	if err != nil {
		t.Fatal(err)
	}
	notBuyers := regexp.MustCompile(
		`^/(?:admin|till|draw|docs|openapi\.yaml|assets/(?:admin|till|draw/|docs|sign-in/|vendor/(?:uplot|scalar)).*)`)
	buyers, signIn, total, docs := 0, 0, 0, 0
	for path, f := range p.files {
		if strings.Contains(path, "LICENSE") || strings.HasSuffix(path, ".md") || strings.HasSuffix(path, ".d.ts") {
			continue // no page loads them
		}
		n := len(f.body())
		if n == 0 {
			t.Errorf("%s is empty", path)
		}
		if f.zipped != nil {
			n = len(f.zipped())
		}
		if strings.Contains(path, "/scalar") || path == "/openapi.yaml" {
			docs += n // counted apart: a page for developers
			continue
		}
		total += n
		if strings.HasPrefix(path, "/assets/sign-in/") {
			signIn += n
		}
		if !notBuyers.MatchString(path) {
			buyers += n
		}
		t.Logf("%7d %s", n, path)
	}
	t.Logf("%7d in all, %d of the buyer's page, %d of signing in", total, buyers, signIn)
	if buyers > mostOfBuyers || signIn > mostOfSignIn || total > most || docs > mostOfDocs {
		t.Errorf("the buyer's page has %d bytes, signing in %d, all pages together %d, and %d for the one at /docs; "+
			"allowed are %d, %d, %d and %d", buyers, signIn, total, docs, mostOfBuyers, mostOfSignIn, most, mostOfDocs)
	}
}

// TestNoForeignHost checks that neither a page nor its assets name another host, which would learn of the visitors. The
// policy forbids it as well; this test finds it earlier.
func TestNoForeignHost(t *testing.T) {
	t.Parallel()
	address := regexp.MustCompile(`(?i)(?:https?:)?//[a-z0-9-]+(?:\.[a-z0-9-]+)+[^\s"'` + "`" + `)]*`)
	// Reserved for examples: no such host exists (RFC 2606).
	documented := regexp.MustCompile(`^https://[a-z.]+\.example/`)
	// XML namespaces, never fetched.
	namespaces := regexp.MustCompile(`^http://www\.w3\.org/(2000/svg|1999/xhtml|1999/xlink|1998/Math/MathML)$`)
	// The license named in openapi.yaml, never fetched.
	license := regexp.MustCompile(`^https://www\.apache\.org/licenses/LICENSE-2\.0$`)
	err := fs.WalkDir(web.FS, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.Contains(name, "LICENSE") || strings.HasSuffix(name, ".md") ||
			strings.Contains(name, "/scalar") { // names hosts of its makers; its policy lets it ask none
			return err
		}
		body, err := fs.ReadFile(web.FS, name)
		for _, found := range address.FindAllString(string(body), -1) {
			if !namespaces.MatchString(found) && !documented.MatchString(found) && !license.MatchString(found) {
				t.Errorf("%s names %s", name, found)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestNothingInline checks that there are no inline scripts and styles, which the policy forbids.
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
