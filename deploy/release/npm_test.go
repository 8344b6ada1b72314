package main

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestClientPackage: the package has what its description promises, a licence, the release's version and commit, and
// nothing that keeps it from being published.
func TestClientPackage(t *testing.T) {
	t.Parallel()
	r := release{version: "v1.2.3", revision: "0a1b2c3", out: t.TempDir(), made: time.Unix(1_700_000_000, 0)}
	name, err := r.writeClient("../..")
	if err != nil || name != "seckill-client-1.2.3.tgz" {
		t.Fatalf("%q, %v", name, err)
	}
	files := unpack(t, filepath.Join(r.out, name))
	var names []string
	for name := range files {
		names = append(names, strings.TrimPrefix(name, "package/"))
	}
	slices.Sort(names)
	want := []string{"LICENSE", "README.md", "index.d.ts", "index.js", "package.json", "schema.d.ts"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	var is struct {
		Name, Version, License, Types, GitHead string
		Private                                bool
		Scripts                                map[string]string
		Exports                                map[string]map[string]string
	}
	if err := json.Unmarshal([]byte(files["package/package.json"]), &is); err != nil {
		t.Fatal(err)
	}
	if is.Name != "seckill-client" || is.Version != "1.2.3" || is.License != "Apache-2.0" || is.GitHead != "0a1b2c3" ||
		is.Private || is.Scripts != nil {
		t.Errorf("package.json: %+v", is)
	}
	for _, export := range is.Exports {
		for _, path := range export {
			if _, has := files["package/"+strings.TrimPrefix(path, "./")]; !has {
				t.Errorf("%s is exported, and not there", path)
			}
		}
	}
	if strings.Contains(files["package/README.md"], "](..") {
		t.Error("the README leads out of the package")
	}
}

// TestClientPackageNeedsANumber: npm takes no commit for a version.
func TestClientPackageNeedsANumber(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{
		"dev": "", "0a1b2c3": "", "0a1b2c3-dirty": "", "v1.2": "", "v1.2.3-rc.1": "seckill-client-1.2.3-rc.1.tgz",
		"1.2.3-dirty": "seckill-client-1.2.3-dirty.tgz",
	} {
		if got, err := (release{version: version, out: t.TempDir()}).writeClient("../.."); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", version, got, err, want)
		}
	}
}

// unpack returns the texts in an archive by name.
func unpack(t *testing.T, path string) map[string]string {
	t.Helper()
	in, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }() // it was only read from
	packed, err := gzip.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for archive := tar.NewReader(packed); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return texts
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		texts[header.Name] = string(text)
	}
}
