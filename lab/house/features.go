package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"
)

// feature is a part of the service, and a pattern for its names.
type feature struct {
	name  string
	names *regexp.Regexp
}

// parseFeatures reads lines of a feature and a regular expression.
func parseFeatures(text string) (all []feature, err error) {
	for _, line := range words(text) {
		if len(line) != 2 {
			return nil, fmt.Errorf("feature %s: one regular expression is needed", line[0])
		}
		names, err := regexp.Compile(line[1])
		if err != nil {
			return nil, fmt.Errorf("feature %s: %w", line[0], err)
		}
		all = append(all, feature{line[0], names})
	}
	return all, nil
}

// printFeatures prints which folders a feature touches: those, outside of the lab, with a file of Go, SQL, Lua or
// JavaScript that has a name of the feature in its path or as an identifier. Comments and Go's strings do not count.
func printFeatures(out io.Writer, t *tree, a areas, features []feature) {
	folders := make([][]string, len(features))
	for _, s := range t.files {
		if !slices.Contains([]string{".go", ".sql", ".lua", ".js"}, path.Ext(s.path)) || a.of(s.path) == labArea {
			continue
		}
		names := append(identifiers(s), s.path)
		for i, f := range features {
			if slices.ContainsFunc(names, f.names.MatchString) {
				folders[i] = append(folders[i], path.Dir(s.path))
			}
		}
	}
	_, _ = io.WriteString(out, "\n| Feature | Folders | Files | Where |\n| --- | ---: | ---: | --- |\n")
	for i, f := range features {
		files := len(folders[i])
		slices.Sort(folders[i])
		where := slices.Compact(folders[i])
		_, _ = fmt.Fprintf(out, "| %s | %d | %d | %s |\n", f.name, len(where), files, strings.Join(where, ", "))
	}
}

// identifiers returns the names in a file, each once.
func identifiers(s source) (names []string) {
	seen := make(map[string]bool)
	if s.isGo() {
		ast.Inspect(s.code, func(n ast.Node) bool {
			if id, is := n.(*ast.Ident); is {
				seen[id.Name] = true
			}
			return true
		})
	} else {
		word := regexp.MustCompile(`[A-Za-z_$][A-Za-z0-9_$]*`)
		for line := range bytes.Lines(s.text) {
			for _, w := range word.FindAll(withoutComment(line), -1) {
				seen[string(w)] = true
			}
		}
	}
	for name := range seen {
		names = append(names, name)
	}
	return names
}

// withoutComment returns a line of SQL, Lua or JavaScript; nothing if it is a comment.
func withoutComment(line []byte) []byte {
	start := bytes.TrimSpace(line)
	for _, mark := range []string{"--", "//", "/*", "*"} {
		if bytes.HasPrefix(start, []byte(mark)) {
			return nil
		}
	}
	return line
}
