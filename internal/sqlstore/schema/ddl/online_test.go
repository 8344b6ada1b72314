package ddl_test

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"seckill/internal/sqlstore/schema/ddl"
)

// The forms of statements that migrations may use. Quoted text is left out before they are matched.
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

// online returns nil if sales go on while the server executes the statement, and if a version that does not know of it
// reads and writes its table as before; otherwise what is wrong.
func online(s ddl.Statement) error {
	err := wrongWith(withoutQuoted(s.Text))
	if err == nil && s.Kind == ddl.Other { // the server would not know that it has to wait for it
		err = errForm
	}
	if err != nil {
		err = fmt.Errorf("%w: %s", err, s.Text)
	}
	return err
}

func wrongWith(plain string) error {
	repeated := createTable.FindStringSubmatch(plain)
	if repeated == nil {
		repeated = fill.FindStringSubmatch(plain)
	}
	altered := alterTable.FindStringSubmatch(plain)
	switch {
	case selects.MatchString(plain): // it reads another table, and locks what it reads
		return errForm
	case len(repeated) > 1 && repeated[1] == "":
		return errRepeat
	case repeated != nil:
		return nil
	case altered != nil:
		return alter(clauses(altered[2]))
	default:
		return errForm
	}
}

// alter returns what is wrong with the clauses of ALTER TABLE.
func alter(clauses []string) error {
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
			return errForm
		}
	}
	stated := how == "INSTANT" && locked == ""
	switch {
	case columns+indexes > 1:
		wrong = append(wrong, errSeveral)
	case indexes > 0:
		stated = how == "INPLACE" && locked == "NONE"
	case columns == 0:
		return errForm
	}
	if !stated {
		wrong = append(wrong, errAlgorithm)
	}
	return errors.Join(wrong...)
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
