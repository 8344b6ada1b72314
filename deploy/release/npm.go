package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
)

// client is the folder of the client for TypeScript and JavaScript.
const client = "clients/typescript"

// numbered is a version as npm takes it, behind an optional v.
const numbered = `^v?(\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?)$`

// writeClient writes the client as a package that npm publishes and installs, and returns its name. Its version is the
// release's. A release whose version is no number, such as a commit, has none: the name is "".
func (r release) writeClient(root string) (name string, err error) {
	version := regexp.MustCompile(numbered).FindStringSubmatch(r.version)
	if version == nil {
		return "", nil
	}
	folder, err := os.MkdirTemp("", "release-")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	description := filepath.Join(folder, "package.json")
	listed, err := r.describeClient(filepath.Join(root, client, "package.json"), description, version[1])
	if err != nil {
		return "", fmt.Errorf("the client's package.json: %w", err)
	}
	files := []file{
		{"package.json", description, 0o644},
		{"LICENSE", filepath.Join(root, "LICENSE"), 0o644},
		{"README.md", filepath.Join(root, client, "README.md"), 0o644},
	}
	for _, name := range listed {
		files = append(files, file{name, filepath.Join(root, client, name), 0o644})
	}
	name = "seckill-client-" + version[1] + ".tgz"
	return name, writeArchive(filepath.Join(r.out, name), "package", files, r.made)
}

// describeClient writes the description of a release's package: with its version and its commit, without the scripts,
// which need the folder that it comes from. It returns the files that the description lists.
func (r release) describeClient(from, to, version string) (files []string, err error) {
	text, err := os.ReadFile(from)
	if err != nil {
		return nil, err
	}
	var described map[string]any
	var listed struct {
		Files []string `json:"files"`
	}
	if err := errors.Join(json.Unmarshal(text, &described), json.Unmarshal(text, &listed)); err != nil {
		return nil, err
	}
	described["version"], described["gitHead"] = version, r.revision
	delete(described, "scripts")
	if text, err = json.MarshalIndent(described, "", "  "); err != nil {
		return nil, err
	}
	return listed.Files, os.WriteFile(to, append(text, '\n'), 0o600)
}
