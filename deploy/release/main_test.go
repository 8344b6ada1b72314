package main

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// The bytes of an archive do not depend on when and where its files were made.
func TestArchivesAreReproducible(t *testing.T) {
	t.Parallel()
	made := time.Unix(1_700_000_000, 0)
	write := func(age time.Duration, mode os.FileMode) string {
		folder := t.TempDir()
		path := filepath.Join(folder, "program")
		if err := os.WriteFile(path, []byte("the program"), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, time.Now(), time.Now().Add(-age)); err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(folder, "archive")
		if err := writeArchive(to, "seckill-1", []file{{"server", path, 0o755}}, made); err != nil {
			t.Fatal(err)
		}
		return to
	}
	first, second := write(0, 0o600), write(time.Hour, 0o755)
	a, errA := sumOf(first)
	b, errB := sumOf(second)
	if a != b || errA != nil || errB != nil {
		t.Errorf("%s and %s, %v, %v", a, b, errA, errB)
	}
	f, err := os.Open(first)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	packed, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	archive := tar.NewReader(packed)
	header, err := archive.Next()
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(archive)
	if header.Name != "seckill-1/server" || header.Mode != 0o755 || !header.ModTime.Equal(made) || header.Uid != 0 ||
		string(content) != "the program" || err != nil {
		t.Errorf("%+v with %q, %v", header, content, err)
	}
}

// The server says which commit it was built from; the others have no place for that.
func TestLinkerFlags(t *testing.T) {
	t.Parallel()
	r := release{version: "v1.2.3", revision: "0a1b2c3"}
	if got := r.linkerFlags("server"); !strings.Contains(got, "-X main.version=v1.2.3 -X main.revision=0a1b2c3") {
		t.Errorf("the server is linked with %s", got)
	}
	if got := r.linkerFlags("loadgen"); strings.Contains(got, "revision") {
		t.Errorf("loadgen is linked with %s", got)
	}
}

func TestSums(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for name, text := range map[string]string{"b": "b", "a": ""} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := writeSums(folder, []string{"b", "a"}); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(folder, "SHA256SUMS"))
	const want = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  a\n" +
		"3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d  b\n"
	if string(got) != want || err != nil {
		t.Errorf("%s, %v", got, err)
	}
}

// The list names the program, every module that is in it, and the standard library, each once.
func TestBill(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "bill")
	if err := writeBill(path, "v1.2.3", "0a1b2c3", []file{{"server", self, 0}, {"loadgen", self, 0}}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var b bill
	if err := json.Unmarshal(text, &b); err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, c := range b.Components {
		count[c.Name]++
		if c.Type == "library" && (c.PURL == "" || c.Version == "") ||
			c.Type == "file" && len(c.Hashes[0].Content) != 64 {
			t.Errorf("%+v", c)
		}
	}
	for _, name := range []string{"server", "loadgen", "stdlib"} {
		if count[name] != 1 {
			t.Errorf("%s is there %d times: %v", name, count[name], count)
		}
	}
	if b.Format != "CycloneDX" || b.Metadata.Component.Version != "v1.2.3" ||
		!slices.Contains(b.Metadata.Properties, property{"seckill:commit", "0a1b2c3"}) {
		t.Errorf("%+v", b)
	}
}

func TestFlags(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		args, want string // in the error; "": none
	}{
		"a release":        {"-version v1.2.3 -targets linux/amd64,darwin/arm64", ""},
		"from a dirty one": {"-version 0a1b2c3-dirty", ""},
		"no version":       {"", "-version is \"\""},
		"a path":           {"-version ../../etc", "-version is"},
		"no architecture":  {"-version v1 -targets linux", "-targets has \"linux\""},
		"an empty target":  {"-version v1 -targets linux/amd64,", "-targets has \"\""},
		"more":             {"-version v1 linux", `"linux" is no flag`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := parse(strings.Fields(tc.args), io.Discard)
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
}

// Whoever reads the documents of an archive finds each one that they lead to.
func TestArchiveHasItsDocuments(t *testing.T) {
	t.Parallel()
	files, err := documents("../..", "LICENSE", "README.md", "CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	has := map[string]bool{}
	for _, f := range files {
		has[f.name] = true
	}
	links := regexp.MustCompile(`\]\(([^):#]+\.[a-z]+)`)
	for _, f := range files {
		text, err := os.ReadFile(f.path)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range links.FindAllStringSubmatch(string(text), -1) {
			if to := path.Join(path.Dir(f.name), found[1]); path.Ext(f.name) == ".md" && !has[to] {
				t.Errorf("%s leads to %s, which the archive lacks", f.name, to)
			}
		}
	}
	for _, name := range []string{
		"docs/operations.md", "docs/coupons.md", "lab/notes/durability.md", "docs/images/buyer-desktop.png",
		"examples/by-hand.sh", "examples/payment/README.md", "deploy/nginx/nginx.conf", "deploy/prometheus/rules.yml",
	} {
		if !has[name] {
			t.Errorf("%s is missing", name)
		}
	}
	astray := t.TempDir()
	if err := os.WriteFile(filepath.Join(astray, "a.md"), []byte("[away](gone.md)"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := documents(astray, "a.md"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a link to a document that is not there: %v", err)
	}
}
