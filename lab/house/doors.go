package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// modulePath is the path of the service's module, and before its folders in imports.
const modulePath = "seckill/"

// ledger is where the types lie whose methods are counted.
const ledger = "internal/sqlstore"

// floors are the areas from the ground up. Files of one floor may import each other.
var floors = [][]string{{"leaf", "kit"}, {"core"}, {"feature"}, {"server", "loadgen", "tools", labArea}}

// exports names the packages with the most exported top-level names, without those of commands.
func exports(t *tree) string {
	names := make(map[string]int)
	for _, s := range t.files {
		if s.isGo() && s.code.Name.Name != "main" {
			names[path.Dir(s.path)] += exported(s.code)
		}
	}
	return largest(names, 3)
}

// exported counts the exported top-level names of a file. Methods and fields are not top-level names.
func exported(f *ast.File) (count int) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil && d.Name.IsExported() {
				count++
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				count += exportedBy(spec)
			}
		}
	}
	return count
}

func exportedBy(spec ast.Spec) (count int) {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		if spec.Name.IsExported() {
			count++
		}
	case *ast.ValueSpec:
		for _, name := range spec.Names {
			if name.IsExported() {
				count++
			}
		}
	}
	return count
}

// ledgerMethods names the ledger's types with the most exported methods.
func ledgerMethods(t *tree) string {
	methods := make(map[string]int)
	for _, s := range t.files {
		if !s.isGo() || !strings.HasPrefix(s.path, ledger+"/") {
			continue
		}
		for _, f := range t.functions(s) {
			if receiver, method, is := strings.Cut(f.name, "."); is && ast.IsExported(method) {
				methods[path.Base(path.Dir(s.path))+"."+receiver]++
			}
		}
	}
	return largest(methods, 3)
}

// arrowsUp returns a measure of the packages that import a package of a higher floor.
func arrowsUp(a areas) func(*tree) string {
	return func(t *tree) string {
		arrows := make(map[string]bool)
		for _, s := range t.files {
			if !s.isGo() {
				continue
			}
			for _, spec := range s.code.Imports {
				imported, err := strconv.Unquote(spec.Path.Value)
				dir, own := strings.CutPrefix(imported, modulePath)
				if err == nil && own && floorOf(a.of(dir+"/")) > floorOf(a.of(s.path)) {
					arrows[path.Dir(s.path)+" → "+dir] = true
				}
			}
		}
		return withNames(strconv.Itoa(len(arrows)), slices.Sorted(maps.Keys(arrows)))
	}
}

// floorOf returns the index of an area's floor; an area without one is on the highest.
func floorOf(area string) int {
	if i := slices.IndexFunc(floors, func(floor []string) bool { return slices.Contains(floor, area) }); i >= 0 {
		return i
	}
	return len(floors) - 1
}

// largest returns the n largest counts with their names.
func largest(counts map[string]int, n int) string {
	all := sorted(counts)
	if len(all) == 0 {
		return "none"
	}
	return strings.Join(all[:min(n, len(all))], ", ")
}

// sorted returns the names with their counts, the largest count first.
func sorted(counts map[string]int) []string {
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	for i, name := range names {
		names[i] = fmt.Sprintf("%s %d", name, counts[name])
	}
	return names
}
