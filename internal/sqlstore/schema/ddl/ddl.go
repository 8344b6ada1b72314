// Package ddl reads the statements of migrations: what each changes, and in which table. It knows the forms that
// migrations may use and no others. Whether sales go on beside a statement is what its test checks.
package ddl

import (
	"regexp"
	"slices"
	"strings"
)

// Kind is what a statement does.
type Kind int

// The kinds that migrations may use.
const (
	Other       Kind = iota // anything else
	CreateTable             // a new table
	AddColumn               // a column of a table, in its description alone
	AddIndex                // an index of a table, built while others write it
	Fill                    // rows that the file itself names
)

// Statement is a statement of a migration.
type Statement struct {
	Text  string // on one line, without comments and the semicolon
	Kind  Kind
	Table string // "" for Other
}

// forms are the forms of the kinds. Each names the table.
var forms = map[Kind]*regexp.Regexp{
	CreateTable: regexp.MustCompile(`(?i)^CREATE TABLE (?:IF NOT EXISTS )?(\w+) ?\(`),
	AddColumn:   regexp.MustCompile(`(?i)^ALTER TABLE (\w+) ADD COLUMN `),
	AddIndex:    regexp.MustCompile(`(?i)^ALTER TABLE (\w+) ADD (?:INDEX|KEY) `),
	Fill:        regexp.MustCompile(`(?i)^INSERT (?:IGNORE )?INTO (\w+) ?\([^()]*\) VALUES `),
}

// Parse returns the statements of a migration's file.
func Parse(text string) (all []Statement) {
	for _, statement := range split(text) {
		s := Statement{Text: statement}
		for kind, form := range forms {
			if named := form.FindStringSubmatch(statement); named != nil {
				s.Kind, s.Table = kind, named[1]
			}
		}
		all = append(all, s)
	}
	return all
}

// split returns the statements of a file, each on one line, without comments.
func split(text string) (all []string) {
	var statement strings.Builder
	quoted := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\'':
			quoted = !quoted
		case quoted:
		case strings.HasPrefix(text[i:], "--"):
			i += strings.IndexByte(text[i:]+"\n", '\n')
			c = '\n'
		case c == ';':
			all = append(all, spaced(statement.String()))
			statement.Reset()
			continue
		}
		statement.WriteByte(c)
	}
	return slices.DeleteFunc(append(all, spaced(statement.String())), func(s string) bool { return s == "" })
}

// spaced puts one space in place of each run of white space.
func spaced(text string) string { return strings.Join(strings.Fields(text), " ") }
