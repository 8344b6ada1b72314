package mutant

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Mutant is one bug, and the test that must notice it.
type Mutant struct {
	Name    string
	Changes []Change
	// Package is the package with the test, and with the bug, if that is not the suite's; empty: the suite's.
	Package string
	// Args are additional arguments of the test.
	Args []string
	// Test is a pattern for go test -run. Each of its elements is anchored at its beginning.
	Test string
	// Sign is a text that the failure must contain, so that a test which fails for another reason does not count. It
	// may be empty.
	Sign string
}

// Change replaces a text that occurs exactly once in a file. The file's name is relative to the top of the clone.
type Change struct{ File, From, To string }

// Check returns an error for each mutant that does not apply to the clone in the current directory.
func Check(mutants []Mutant) error {
	var wrong error
	for _, m := range mutants {
		if _, err := m.broken(); err != nil {
			wrong = errors.Join(wrong, fmt.Errorf("%s: %w", m.Name, err))
		}
	}
	return wrong
}

// broken returns the text of each file that the mutant changes, by the file's absolute name.
func (m Mutant) broken() (map[string]string, error) {
	texts := map[string]string{}
	for _, c := range m.Changes {
		name, err := filepath.Abs(c.File)
		if err != nil {
			return nil, err
		}
		text, changed := texts[name]
		if !changed {
			original, err := os.ReadFile(name)
			if err != nil {
				return nil, err
			}
			text = string(original)
		}
		if n := strings.Count(text, c.From); n != 1 {
			return nil, fmt.Errorf("%s has %d occurrences of %q, want 1: update the mutant", c.File, n, c.From)
		}
		texts[name] = strings.Replace(text, c.From, c.To, 1)
	}
	return texts, nil
}

// overlay writes the broken files into dir and returns the name of the list with which a build uses them.
func (m Mutant) overlay(dir string) (string, error) {
	texts, err := m.broken()
	if err != nil {
		return "", err
	}
	replaced := map[string]string{}
	for name, text := range texts {
		replaced[name] = filepath.Join(dir, strconv.Itoa(len(replaced))+"-"+filepath.Base(name))
		if err := os.WriteFile(replaced[name], []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	list, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "overlay.json")
	return name, os.WriteFile(name, list, 0o600)
}
