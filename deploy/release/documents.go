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

// documents returns the named files of a folder, and every document that they lead to, one after another, so that no
// reader of an archive is led to one that it lacks. Links to the source's folders and files are left as they are: they
// say where something stands. A document that is not there is an error.
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
		text, err := os.ReadFile(filepath.Join(root, name)) //nolint:gosec // of this repository
		if err != nil {
			return nil, fmt.Errorf("a document of the archive: %w", err)
		}
		if path.Ext(name) != ".md" {
			continue
		}
		for _, found := range links.FindAllSubmatch(text, -1) {
			led, err := ledTo(root, path.Join(path.Dir(name), string(found[1])), string(found[1]))
			if err != nil {
				return nil, err
			}
			names = append(names, led...)
		}
	}
	var files []file
	for name := range wanted {
		files = append(files, file{name, filepath.Join(root, name), 0o644})
	}
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	return files, nil
}

// ledTo returns the documents behind a link to a name: itself, or those in a folder.
func ledTo(root, name, given string) ([]string, error) {
	if strings.Contains(given, "://") || strings.HasPrefix(given, "mailto:") || strings.HasPrefix(name, "..") {
		return nil, nil
	}
	folder, err := fs.Stat(os.DirFS(root), name)
	switch {
	case err == nil && folder.IsDir():
		return fs.Glob(os.DirFS(root), name+"/*.md")
	case slices.Contains([]string{".md", ".png", ".svg", ".yaml", ".json"}, path.Ext(name)), path.Ext(name) == "":
		return []string{name}, nil
	default:
		return nil, nil
	}
}
