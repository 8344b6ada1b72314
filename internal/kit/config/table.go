package config

import "strings"

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
	b.WriteString("| Variable | Default | Value | Effect |\n| --- | --- | --- | --- |\n")
	for i, r := range Table() {
		def := r.Default
		switch {
		case settings()[i].tag("shown") != "": // words, not a value
		case def == "":
			def = "none"
		default:
			def = "`" + def + "`"
		}
		b.WriteString("| `" + r.Name + "` | " + def + " | " + r.Unit + " | " +
			strings.ReplaceAll(r.Effect, "*", `\*`) + " |\n")
	}
	return b.String()
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
