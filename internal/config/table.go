package config

import (
	"slices"
	"strings"
)

// Row is one setting as the help text and docs/operations.md show it.
type Row struct {
	Name    string // the environment variable
	Default string // "" when there is none
	Unit    string // what the value is, and the allowed values
	Effect  string // what it does
}

// Table returns all settings in the order of [Config].
func Table() []Row {
	var rows []Row
	for _, s := range settings() {
		def := s.tag("shown")
		if def == "" {
			def = s.tag("envDefault")
		}
		rows = append(rows, Row{Name: s.name(), Default: def, Unit: s.allowed(), Effect: s.tag("effect")})
	}
	return rows
}

// MarkdownTable returns the table for docs/operations.md. A test compares it with the document,
// between two marker lines; "make docs" writes it there.
func MarkdownTable() string {
	var b strings.Builder
	b.WriteString("| Variable | Default | Effect |\n| --- | --- | --- |\n")
	for _, s := range settings() {
		b.WriteString("| `" + s.name() + "` | " + s.cell() + " | " +
			strings.ReplaceAll(s.tag("effect"), "*", `\*`) + " |\n")
	}
	return b.String()
}

// cell returns the default for the table, and the kind of value unless the default or the name shows it.
// The bounds of numbers are left to --help.
func (s setting) cell() string {
	def := "`" + s.tag("envDefault") + "`"
	if s.tag("shown") != "" { // words, not a value
		def = s.tag("shown")
	} else if s.tag("envDefault") == "" {
		def = "none"
	}
	switch kind := s.allowed(); {
	case slices.Contains([]string{"name", "text", "number", "duration"}, s.tag("unit")),
		kind == "true or false", strings.HasSuffix(s.name(), "_SECRET"):
		return def
	case s.tag("min") != "" && s.tag("shown") == "":
		return def + " " + s.tag("unit")
	default:
		return def + " (" + kind + ")"
	}
}

// allowed describes the allowed values.
func (s setting) allowed() string {
	if of := s.tag("oneof"); of != "" {
		choices := strings.Split(of, ",")
		last := len(choices) - 1
		return strings.Join(choices[:last], ", ") + " or " + choices[last]
	}
	if s.tag("min") != "" {
		return s.tag("unit") + ", " + s.tag("min") + " to " + s.tag("max")
	}
	return s.tag("unit")
}
