package report

import (
	"fmt"
	"os"
	"strings"
)

// The pages' words are written by hand, and the benchmark writes their figures between marks such as these.
const (
	sectionBegins = "<!-- measured: %s -->\n"
	sectionEnds   = "<!-- measured until here -->\n"
)

// UpdatePage puts the sections into a page and reports whether the page exists.
func UpdatePage(path string, sections map[string]string) (updated bool, err error) {
	page, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	text := string(page)
	for name, body := range sections {
		if text, err = replaceSection(text, name, body); err != nil {
			return false, fmt.Errorf("%s: %w", path, err)
		}
	}
	return true, os.WriteFile(path, []byte(text), 0o644)
}

// replaceSection replaces the text between a section's marks.
func replaceSection(page, name, body string) (string, error) {
	before, rest, found := strings.Cut(page, fmt.Sprintf(sectionBegins, name))
	if !found {
		return "", fmt.Errorf("it has no section %q", name)
	}
	_, after, found := strings.Cut(rest, sectionEnds)
	if !found {
		return "", fmt.Errorf("section %q has no end", name)
	}
	return before + fmt.Sprintf(sectionBegins, name) + body + sectionEnds + after, nil
}
