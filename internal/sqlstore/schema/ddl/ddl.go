// Package ddl reads the statements of migrations: what each changes, in which table, and whether sales go on meanwhile.
// It knows the forms that migrations may use and no others: whatever else a file says is refused by [Statement.Online].
package ddl

import (
	"errors"
	"fmt"
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
	AddColumn               // columns of a table, in its description alone
	AddIndex                // indexes of a table, built while others write it
	Fill                    // rows that the file itself names
)

// Statement is a statement of a migration.
type Statement struct {
	Text  string // on one line, without comments and the semicolon
	Kind  Kind
	Table string // "" for Other
	// wrong is why sales would not go on beside it, or a version that does not know it would not.
	wrong error
}

// Online returns nil if sales go on while the server executes the statement, and if a version that does not know of it
// reads and writes its table as before; otherwise what is wrong.
func (s Statement) Online() error {
	if s.wrong == nil {
		return nil
	}
	return fmt.Errorf("%w: %s", s.wrong, s.Text)
}

// Parse returns the statements of a migration's file.
func Parse(text string) (all []Statement) {
	for _, statement := range split(text) {
		all = append(all, read(statement))
	}
	return all
}

// The forms of statements. Quoted text is left out before they are matched.
var (
	createTable = regexp.MustCompile(`(?i)^CREATE TABLE (IF NOT EXISTS )?(\w+) ?\(`)
	alterTable  = regexp.MustCompile(`(?i)^ALTER TABLE (\w+) (.+)$`)
	fill        = regexp.MustCompile(`(?i)^INSERT (IGNORE )?INTO (\w+) ?\([^()]*\) VALUES `)
	selects     = regexp.MustCompile(`(?i)\bSELECT\b`)
	addColumn   = regexp.MustCompile(`(?i)^ADD COLUMN (\w+) (.+)$`)
	addIndex    = regexp.MustCompile(`(?i)^ADD (?:INDEX|KEY) (\w+) ?\([^()]*\)$`)
	algorithm   = regexp.MustCompile(`(?i)^ALGORITHM ?= ?(\w+)$`)
	lock        = regexp.MustCompile(`(?i)^LOCK ?= ?(\w+)$`)
	computed    = regexp.MustCompile(`(?i)\b(GENERATED|AS|STORED|VIRTUAL|UNIQUE|PRIMARY|AUTO_INCREMENT|REFERENCES|` +
		`CHECK|ON UPDATE)\b`)
	notNull    = regexp.MustCompile(`(?i)\bNOT NULL\b`)
	hasDefault = regexp.MustCompile(`(?i)\bDEFAULT\b`)
)

// What is wrong with a statement.
var (
	errForm = errors.New("not one of the forms of migrations (CREATE TABLE IF NOT EXISTS; ALTER TABLE with ADD " +
		"COLUMN or with ADD INDEX; INSERT IGNORE INTO with VALUES)")
	errRepeat    = errors.New("it cannot be repeated: say IF NOT EXISTS, or IGNORE")
	errAlgorithm = errors.New("it does not say how it is executed: columns need ALGORITHM = INSTANT and no LOCK, " +
		"indexes ALGORITHM = INPLACE, LOCK = NONE")
	errColumn = errors.New("a column that versions before do not name needs NULL or a DEFAULT, and is not computed, " +
		"unique or checked")
	errSeveral = errors.New("each column and each index needs an ALTER of its own, which is there whole or not at all")
)

// read reads one statement, on one line.
func read(text string) Statement {
	s := Statement{Text: text}
	plain := withoutQuoted(text)
	switch {
	case selects.MatchString(plain): // it reads another table, and locks what it reads
		s.wrong = errForm
	case createTable.MatchString(plain):
		m := createTable.FindStringSubmatch(plain)
		s.Kind, s.Table = CreateTable, m[2]
		if m[1] == "" {
			s.wrong = errRepeat
		}
	case fill.MatchString(plain):
		m := fill.FindStringSubmatch(plain)
		s.Kind, s.Table = Fill, m[2]
		if m[1] == "" {
			s.wrong = errRepeat
		}
	case alterTable.MatchString(plain):
		m := alterTable.FindStringSubmatch(plain)
		s.Table = m[1]
		s.Kind, s.wrong = alter(clauses(m[2]))
	default:
		s.wrong = errForm
	}
	return s
}

// alter reads the clauses of ALTER TABLE.
func alter(clauses []string) (Kind, error) {
	how, locked := "", ""
	var columns, indexes int
	var wrong []error
	for _, clause := range clauses {
		switch {
		case algorithm.MatchString(clause):
			how = strings.ToUpper(algorithm.FindStringSubmatch(clause)[1])
		case lock.MatchString(clause):
			locked = strings.ToUpper(lock.FindStringSubmatch(clause)[1])
		case addColumn.MatchString(clause):
			columns++
			if of := addColumn.FindStringSubmatch(clause)[2]; !fits(of) {
				wrong = append(wrong, errColumn)
			}
		case addIndex.MatchString(clause):
			indexes++
		default:
			return Other, errForm
		}
	}
	kind := AddColumn
	stated := how == "INSTANT" && locked == ""
	switch {
	case columns+indexes > 1:
		wrong = append(wrong, errSeveral)
	case indexes > 0:
		kind, stated = AddIndex, how == "INPLACE" && locked == "NONE"
	case columns == 0:
		return Other, errForm
	}
	if !stated {
		wrong = append(wrong, errAlgorithm)
	}
	return kind, errors.Join(wrong...)
}

// fits reports whether a column may be added beside versions that do not know it.
func fits(of string) bool {
	return !computed.MatchString(of) && (!notNull.MatchString(of) || hasDefault.MatchString(of))
}

// clauses splits text at the commas outside of parentheses.
func clauses(text string) []string {
	depth := 0
	all := strings.FieldsFunc(text, func(r rune) bool {
		switch r {
		case '(':
			depth++
		case ')':
			depth--
		}
		return r == ',' && depth == 0
	})
	for i := range all {
		all[i] = strings.TrimSpace(all[i])
	}
	return all
}

// withoutQuoted empties quoted text: COMMENT 'no DROP' becomes COMMENT ”.
func withoutQuoted(text string) string {
	var out strings.Builder
	for i, part := range strings.Split(text, "'") { // a doubled quote is two quoted texts beside each other
		if i%2 == 0 {
			out.WriteString(part)
		} else {
			out.WriteString("''")
		}
	}
	return out.String()
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
