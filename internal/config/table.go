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
