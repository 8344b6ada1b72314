package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"
)

// step is one function on the path, in its stage.
type step struct {
	stage string
	function
}

// printPath prints the functions of a list with their lines and branches, and the sums.
func printPath(ctx context.Context, out io.Writer, dir, list string) error {
	t, err := readTree(ctx, dir)
	if err != nil {
		return err
	}
	steps, err := resolve(t, list)
	if err != nil {
		return err
	}
	_, _ = io.WriteString(out, "| Stage | Function | File | Lines | Branches |\n| --- | --- | --- | ---: | ---: |\n")
	var all, code, part total
	for i, s := range steps {
		_, _ = fmt.Fprintf(out, "| %s | %s | %s:%d | %d | %d |\n", s.stage, s.name, s.file, s.line, s.lines, s.branches)
		part.add(s.function)
		all.add(s.function)
		if path.Ext(s.file) == ".go" {
			code.add(s.function)
		}
		if i+1 == len(steps) || steps[i+1].stage != s.stage {
			so := fmt.Sprintf("so far in Go: %d functions, %d lines", code.functions, code.lines)
			_, _ = io.WriteString(out, part.row(s.stage, so))
			part = total{}
		}
	}
	_, _ = io.WriteString(out, code.row("in Go", ""))
	_, _ = io.WriteString(out, all.row("in all, scripts as functions", ""))
	return nil
}

// total sums up several functions.
type total struct{ functions, lines, branches int }

func (t *total) add(f function) {
	t.functions, t.lines, t.branches = t.functions+1, t.lines+f.lines, t.branches+f.branches
}

func (t *total) row(name, remark string) string {
	return fmt.Sprintf("| **%s** | %d functions | %s | %d | %d |\n", name, t.functions, remark, t.lines, t.branches)
}

// resolve finds the functions of a list. A line has a folder and functions in it, or a Lua file, which counts as one
// function. A line in brackets begins a stage.
func resolve(t *tree, list string) (steps []step, err error) {
	known := make(map[string]function)
	for _, s := range t.files {
		switch {
		case s.isGo():
			for _, f := range t.functions(s) {
				known[path.Dir(f.file)+" "+f.name] = f
			}
		case path.Ext(s.path) == ".lua":
			known[s.path] = script(s)
		}
	}
	var missing []error
	stage := ""
	for _, line := range words(list) {
		if text := strings.Join(line, " "); strings.HasPrefix(text, "[") {
			stage = strings.Trim(text, "[]")
			continue
		}
		keys := []string{line[0]} // a Lua file
		if len(line) > 1 {
			keys = nil
			for _, name := range line[1:] {
				keys = append(keys, line[0]+" "+name)
			}
		}
		for _, key := range keys {
			f, found := known[key]
			if !found {
				missing = append(missing, fmt.Errorf("there is no %s", key))
			}
			steps = append(steps, step{stage, f})
		}
	}
	return steps, errors.Join(missing...)
}

// script returns a Lua file as one function, from its first line that is not a comment.
func script(s source) function {
	decision := regexp.MustCompile(`\b(if|elseif|for|while|until|and|or)\b`)
	f := function{name: path.Base(s.path), file: s.path}
	number := 0
	for line := range bytes.Lines(s.text) {
		number++
		code, _, _ := bytes.Cut(line, []byte("--"))
		if f.line == 0 && len(bytes.TrimSpace(code)) > 0 {
			f.line = number
		}
		f.branches += len(decision.FindAll(code, -1))
	}
	if f.line > 0 {
		f.lines = number - f.line + 1
	}
	return f
}
