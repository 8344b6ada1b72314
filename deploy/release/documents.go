package main

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// link is where a link or a picture of Markdown leads to, without its anchor.
const link = `\]\(([^)#\s]+)`

// documents returns the named files of a folder and all that they lead to, one after another: the reader of an archive
// finds whatever a link names, an example or a configuration as well as a document. A link to a folder stands for all
// files below it. A link to what is not there is an error.
func documents(root string, names ...string) ([]file, error) {
	links := regexp.MustCompile(link)
	wanted := map[string]bool{}
	for len(names) > 0 {
		name := names[0]
		names = names[1:]
		if wanted[name] {
			continue
		}
		wanted[name] = true
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return nil, fmt.Errorf("a document of the archive: %w", err)
		}
		if path.Ext(name) != ".md" {
			continue
		}
		for _, found := range links.FindAllSubmatch(text, -1) {
			led, err := ledTo(root, path.Dir(name), string(found[1]))
			if err != nil {
				return nil, err
			}
			names = append(names, led...)
		}
	}
	var files []file
	for name := range wanted {
		mode := int64(0o644)
		if path.Ext(name) == ".sh" {
			mode = 0o755
		}
		files = append(files, file{name: name, path: filepath.Join(root, name), mode: mode})
	}
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	return files, nil
}

// ledTo returns the files behind a link that stands in a folder's document; none behind one that leads out of root.
func ledTo(root, folder, given string) (names []string, err error) {
	name := path.Join(folder, given)
	if strings.Contains(given, "://") || strings.HasPrefix(given, "mailto:") || strings.HasPrefix(name, "..") {
		return nil, nil
	}
	err = fs.WalkDir(os.DirFS(root), name, func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("a link in a document of the archive: %w", err)
	}
	return names, nil
}
