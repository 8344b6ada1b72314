// Package overlay makes builds with bugs in them, for programs that try whether tests notice. Nothing in the checkout
// is changed: the broken files are an overlay of the build.
package overlay

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Change replaces the one place of a file where a text stands.
type Change struct{ File, From, To string }

// Write writes the broken files into dir and returns the name of the list that makes a build use them, go build
// -overlay. It fails when a text stands in its file never or more than once: then the change is out of date.
func Write(dir string, changes []Change) (string, error) {
	replaced := map[string]string{}
	for i, c := range changes {
		original, err := filepath.Abs(c.File)
		if err != nil {
			return "", err
		}
		source := original
		if earlier, again := replaced[original]; again {
			source = earlier
		}
		text, err := os.ReadFile(source)
		if err != nil {
			return "", err
		}
		if n := strings.Count(string(text), c.From); n != 1 {
			return "", fmt.Errorf("%s has %d places with %q, want 1: bring the mutant up to date", c.File, n, c.From)
		}
		broken := filepath.Join(dir, strconv.Itoa(i)+"-"+filepath.Base(c.File))
		text = []byte(strings.Replace(string(text), c.From, c.To, 1))
		if err := os.WriteFile(broken, text, 0o600); err != nil {
			return "", err
		}
		replaced[original] = broken
	}
	list, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "overlay.json")
	return name, os.WriteFile(name, list, 0o600)
}
