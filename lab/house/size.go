package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	maxColumns    = 120
	tabWidth      = 4
	maxCyclomatic = 15
	manyFiles     = 20
	tooManyFiles  = 24
	labArea       = "lab" // rigs, benches and what only tests need: counted apart
	noArea        = "other"
)

// areas maps files to areas: the first pattern that matches a file decides.
type areas []struct{ pattern, area string }

// parseAreas reads lines of an area and its patterns: folders that end in a slash, or path.Match patterns of files.
func parseAreas(text string) (areas, error) {
	var all areas
	for _, line := range words(text) {
		for _, pattern := range line[1:] {
			if _, err := path.Match(pattern, ""); err != nil {
				return nil, fmt.Errorf("area %s: %q: %w", line[0], pattern, err)
			}
			all = append(all, struct{ pattern, area string }{pattern, line[0]})
		}
	}
	return all, nil
}

func (a areas) of(file string) string {
	for _, rule := range a {
		if strings.HasSuffix(rule.pattern, "/") && strings.HasPrefix(file, rule.pattern) {
			return rule.area
		}
		if matched, _ := path.Match(rule.pattern, file); matched { // patterns are checked when they are read
			return rule.area
		}
	}
	return noArea
}

// sums are the counts of an area.
type sums struct{ files, lines, statements, functions, interfaces int }

func (s sums) plus(t sums) sums {
	return sums{
		s.files + t.files, s.lines + t.lines, s.statements + t.statements,
		s.functions + t.functions, s.interfaces + t.interfaces,
	}
}

func (s sums) row(name string) string {
	const format = "| %s | %d | %d | %d | %d | %d |\n"
	return fmt.Sprintf(format, name, s.files, s.lines, s.statements, s.functions, s.interfaces)
}

// printAreas prints the amount of Go by area.
func printAreas(out io.Writer, t *tree, a areas) {
	by := make(map[string]sums)
	for _, s := range t.files {
		if s.isGo() {
			area := a.of(s.path)
			by[area] = by[area].plus(sums{1, s.lines(), statements(s.code), len(t.functions(s)), interfaces(s.code)})
		}
	}
	lab := by[labArea]
	delete(by, labArea)
	var all sums
	_, _ = io.WriteString(out, "| Area | Files | Lines | Statements | Functions | Interfaces |\n"+
		"| --- | ---: | ---: | ---: | ---: | ---: |\n")
	for _, area := range slices.Sorted(maps.Keys(by)) {
		all = all.plus(by[area])
		_, _ = io.WriteString(out, by[area].row(area))
	}
	_, _ = io.WriteString(out, all.row("**without the lab**"))
	_, _ = io.WriteString(out, lab.row(labArea))
	_, _ = io.WriteString(out, all.plus(lab).row("**in all**"))
}

// printMeasures prints what is too large, without the lab and in all.
func printMeasures(out io.Writer, t *tree, a areas) {
	without := &tree{fset: t.fset}
	for _, s := range t.files {
		if a.of(s.path) != labArea {
			without.files = append(without.files, s)
		}
	}
	_, _ = io.WriteString(out, "\n| Measure | Without the lab | In all |\n| --- | --- | --- |\n")
	many := func(t *tree) string { return packagesOver(t, manyFiles) }
	tooMany := func(t *tree) string { return packagesOver(t, tooManyFiles) }
	for _, m := range []struct {
		name string
		of   func(*tree) string
	}{
		{"words in docs/", docWords},
		{fmt.Sprintf("packages over %d files", manyFiles), many},
		{fmt.Sprintf("packages over %d files", tooManyFiles), tooMany},
		{"lines of a function: median, 95 %, longest", functionLines},
		{fmt.Sprintf("functions with a cyclomatic complexity over %d", maxCyclomatic), complexFunctions},
		{fmt.Sprintf("lines of Go over %d columns", maxColumns), longLines},
		{"exported names of the widest packages", exports},
		{"exported methods of the ledger's widest types", ledgerMethods},
		{"imports that run up", arrowsUp(a)},
		{"make targets with a help text", makeTargets},
	} {
		_, _ = fmt.Fprintf(out, "| %s | %s | %s |\n", m.name, m.of(without), m.of(t))
	}
}

func docWords(t *tree) string {
	n := 0
	for _, s := range t.files {
		if strings.HasPrefix(s.path, "docs/") && path.Ext(s.path) == ".md" {
			n += len(bytes.Fields(s.text))
		}
	}
	return fmt.Sprint(n)
}

func packagesOver(t *tree, most int) string {
	files := make(map[string]int)
	for _, s := range t.files {
		if s.isGo() {
			files[path.Dir(s.path)]++
		}
	}
	maps.DeleteFunc(files, func(_ string, n int) bool { return n <= most })
	return withNames(fmt.Sprint(len(files)), sorted(files))
}

// withNames adds names to a number.
func withNames(number string, names []string) string {
	if len(names) == 0 {
		return number
	}
	return number + ": " + strings.Join(names, ", ")
}

func (t *tree) allFunctions() (all []function) {
	for _, s := range t.files {
		if s.isGo() {
			all = append(all, t.functions(s)...)
		}
	}
	return all
}

func functionLines(t *tree) string {
	all := t.allFunctions()
	if len(all) == 0 {
		return "none"
	}
	slices.SortFunc(all, func(a, b function) int { return cmp.Compare(a.lines, b.lines) })
	n := len(all)
	median, most, longest := all[(n-1)/2], all[(n*95+99)/100-1], all[n-1]
	return fmt.Sprintf("%d, %d, %d (%s in %s)",
		median.lines, most.lines, longest.lines, longest.name, path.Dir(longest.file))
}

func complexFunctions(t *tree) string {
	all := t.allFunctions()
	n := len(all)
	all = slices.DeleteFunc(all, func(f function) bool { return f.branches+1 <= maxCyclomatic })
	slices.SortStableFunc(all, func(a, b function) int { return cmp.Compare(b.branches, a.branches) })
	var names []string
	for _, f := range all {
		names = append(names, fmt.Sprintf("%s.%s %d", path.Base(path.Dir(f.file)), f.name, f.branches+1))
	}
	return withNames(fmt.Sprintf("%d of %d", len(all), n), names)
}

func longLines(t *tree) string {
	n := 0
	for _, s := range t.files {
		if !s.isGo() {
			continue
		}
		for line := range bytes.Lines(s.text) {
			if columns(bytes.TrimRight(line, "\n")) > maxColumns {
				n++
			}
		}
	}
	return fmt.Sprint(n)
}

func columns(line []byte) int {
	return utf8.RuneCount(line) + (tabWidth-1)*bytes.Count(line, []byte{'\t'})
}

// makeTargets counts the targets that make help lists, in each Makefile.
func makeTargets(t *tree) string {
	target := regexp.MustCompile(`(?m)^[A-Za-z0-9_-]+:.*## `)
	var found []string
	for _, s := range t.files {
		if path.Base(s.path) == "Makefile" {
			found = append(found, fmt.Sprintf("%s %d", s.path, len(target.FindAll(s.text, -1))))
		}
	}
	return strings.Join(found, ", ")
}
