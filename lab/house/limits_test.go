package main

import (
	_ "embed" // the limits are a file
	"path"
	"strconv"
	"strings"
	"testing"
)

//go:embed limits.txt
var limits string

// TestLimits holds this tree to limits.txt.
func TestLimits(t *testing.T) {
	t.Parallel()
	dir, err := workTree(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all, err := readTree(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	a, err := parseAreas(areasToday)
	if err != nil {
		t.Fatal(err)
	}
	steps, err := resolve(all, pathToday)
	if err != nil {
		t.Fatal(err)
	}
	product := &tree{fset: all.fset}
	lines, docs, names := 0, 0, 0
	for _, s := range all.files {
		if strings.HasPrefix(s.path, "docs/") && !strings.HasPrefix(s.path, "docs/adr/") && path.Ext(s.path) == ".md" {
			docs += len(strings.Fields(string(s.text)))
		}
		if !s.isGo() || a.of(s.path) == labArea || strings.HasPrefix(s.path, "providers/") {
			continue
		}
		product.files = append(product.files, s)
		lines += s.lines()
		if path.Dir(s.path) == "internal/order" {
			names += exported(s.code)
		}
	}
	var purchase total
	for _, s := range steps {
		if path.Ext(s.file) == ".go" {
			purchase.add(s.function)
		}
	}
	now := map[string]int{
		"lines of Go":                       lines,
		"words in docs/ without records":    docs,
		"lines of a purchase in Go":         purchase.lines,
		"functions of a purchase in Go":     purchase.functions,
		"exported names of internal/order":  names,
		"imports that run up":               leading(t, arrowsUp(a)(product)),
		"packages over 24 files":            leading(t, packagesOver(product, tooManyFiles)),
		"functions with complexity over 15": leading(t, complexFunctions(product)),
	}
	for _, row := range words(limits) {
		name := strings.Join(row[:len(row)-1], " ")
		most, err := strconv.Atoi(row[len(row)-1])
		n, known := now[name]
		switch {
		case err != nil || !known:
			t.Errorf("limits.txt: %q has no number, or nothing of that name is counted", strings.Join(row, " "))
		case n > most:
			t.Errorf("%s: %d, and limits.txt allows %d", name, n, most)
		}
		delete(now, name)
	}
	for name, n := range now {
		t.Errorf("%s: %d, and limits.txt has no limit", name, n)
	}
}

// leading returns the number at the beginning of a measure.
func leading(t *testing.T, measure string) int {
	t.Helper()
	number := strings.FieldsFunc(measure, func(r rune) bool { return r == ' ' || r == ':' })
	n, err := strconv.Atoi(number[0])
	if err != nil {
		t.Fatalf("%q begins with no number", measure)
	}
	return n
}
