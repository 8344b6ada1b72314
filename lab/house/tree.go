package main

import (
	"bytes"
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// tree is the files to measure.
type tree struct {
	fset  *token.FileSet
	files []source
}

// source is one file. Only Go files are parsed.
type source struct {
	path string // below the tree, with slashes
	text []byte
	code *ast.File
}

// readTree reads the files below a folder that git tracks, or would track, without tests, generated files and others'
// code.
func readTree(ctx context.Context, dir string) (*tree, error) {
	list := exec.CommandContext(ctx, "git", "-C", dir, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	names, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("listing the files of %s: %w", dir, err)
	}
	t := &tree{fset: token.NewFileSet()}
	all := strings.Split(strings.TrimRight(string(names), "\x00"), "\x00")
	slices.Sort(all)
	for _, name := range slices.Compact(all) {
		if !measured(name) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		if os.IsNotExist(err) {
			continue // deleted, and not committed yet
		}
		if err != nil {
			return nil, err
		}
		s := source{path: name, text: text}
		if path.Ext(name) == ".go" {
			if s.code, err = parser.ParseFile(t.fset, name, text, parser.ParseComments); err != nil {
				return nil, err
			}
			if ast.IsGenerated(s.code) {
				continue
			}
		}
		t.files = append(t.files, s)
	}
	return t, nil
}

// measured reports whether to read a file, by its name.
func measured(name string) bool {
	others := strings.Contains(name, "/testdata/") || strings.Contains(name, "/vendor/")
	if others || strings.HasSuffix(name, "_test.go") {
		return false
	}
	switch path.Ext(name) {
	case ".go", ".lua", ".sql", ".js", ".md":
		return true
	}
	return path.Base(name) == "Makefile"
}

// isGo reports whether it is Go code that is counted.
func (s source) isGo() bool { return s.code != nil }

// lines counts lines as wc does.
func (s source) lines() int { return bytes.Count(s.text, []byte{'\n'}) }

// function is one declared function.
type function struct {
	name     string // Type.Method, or the name alone
	file     string
	line     int
	lines    int
	branches int
}

// functions returns a file's functions that have a body.
func (t *tree) functions(s source) (all []function) {
	for _, d := range s.code.Decls {
		f, is := d.(*ast.FuncDecl)
		if !is || f.Body == nil {
			continue
		}
		from, to := t.fset.Position(f.Pos()), t.fset.Position(f.End())
		all = append(all, function{
			name: nameOf(f), file: s.path, line: from.Line, lines: to.Line - from.Line + 1, branches: branches(f),
		})
	}
	return all
}

// nameOf returns a method's name, preceded by its type's.
func nameOf(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	t := f.Recv.List[0].Type
	for {
		switch of := t.(type) {
		case *ast.StarExpr:
			t = of.X
		case *ast.IndexExpr:
			t = of.X
		case *ast.IndexListExpr:
			t = of.X
		case *ast.Ident:
			return of.Name + "." + f.Name.Name
		default:
			return f.Name.Name
		}
	}
}

// branches counts the decisions below a node.
func branches(n ast.Node) (count int) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt:
			count++
		case *ast.CaseClause:
			if n.List != nil {
				count++
			}
		case *ast.CommClause:
			if n.Comm != nil {
				count++
			}
		case *ast.BinaryExpr:
			if n.Op == token.LAND || n.Op == token.LOR {
				count++
			}
		}
		return true
	})
	return count
}

// statements counts the statements below a node.
func statements(n ast.Node) (count int) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.BlockStmt, *ast.CaseClause, *ast.CommClause, *ast.EmptyStmt:
		case ast.Stmt:
			count++
		}
		return true
	})
	return count
}

// interfaces counts the named interface types of a file, without constraints.
func interfaces(f *ast.File) (count int) {
	ast.Inspect(f, func(n ast.Node) bool {
		if spec, is := n.(*ast.TypeSpec); is {
			if i, is := spec.Type.(*ast.InterfaceType); is && !isConstraint(i) {
				count++
			}
		}
		return true
	})
	return count
}

// isConstraint reports whether an interface lists types.
func isConstraint(i *ast.InterfaceType) bool {
	return slices.ContainsFunc(i.Methods.List, func(f *ast.Field) bool {
		switch f.Type.(type) {
		case *ast.UnaryExpr, *ast.BinaryExpr:
			return true
		}
		return false
	})
}
