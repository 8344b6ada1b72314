package migrations_test

import (
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"

	"seckill/migrations"
)

var (
	tableOf  = regexp.MustCompile(`^(?:CREATE TABLE(?: IF NOT EXISTS)?|ALTER TABLE) (\w+)`)
	columnOf = regexp.MustCompile(`(?:^ {4}|ADD COLUMN )([a-z]\w*) +[A-Z]`)
	// aboutPeople matches names of columns that may name somebody.
	aboutPeople = regexp.MustCompile(`user|buyer|admin|caller|actor|_by$|^subject$|owner`)
)

// columnsIn returns the columns of each table of a dialect, as its files define them.
func columnsIn(t *testing.T, dialect string) map[string][]string {
	t.Helper()
	files, err := fs.Glob(migrations.FS, dialect+"/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	columns := map[string][]string{}
	for _, file := range files {
		text, err := fs.ReadFile(migrations.FS, file)
		if err != nil {
			t.Fatal(err)
		}
		table := ""
		for line := range strings.Lines(string(text)) {
			if is := tableOf.FindStringSubmatch(line); is != nil {
				table = is[1]
				columns[table] = append(columns[table], []string{}...)
			}
			if is := columnOf.FindStringSubmatch(line); is != nil {
				columns[table] = append(columns[table], is[1])
			}
		}
	}
	return columns
}

// Each table says what a purge and forgetting do with it, by columns that it has, and accounts for every column that
// may name somebody.
func TestTablesSayWhatGoes(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"mysql", "sqlite"} {
		columns := columnsIn(t, dialect)
		if len(columns["tb_voucher_order"]) < 20 || len(columns["tb_payment"]) < 25 {
			t.Errorf("%s: read columns %v", dialect, columns)
		}
		for _, table := range migrations.Tables() {
			for _, problem := range unsaid(table, columns[table.Name]) {
				t.Errorf("%s: %s: %s", dialect, table.Name, problem)
			}
			delete(columns, table.Name)
		}
		for name := range columns {
			t.Errorf("%s: migrations.Tables does not say what a purge and forgetting do with %s", dialect, name)
		}
	}
}

// unsaid returns what the table does not say.
func unsaid(table migrations.Table, columns []string) (problems []string) {
	if len(columns) == 0 {
		return []string{"there is no such table"}
	}
	if table.Purge == (migrations.Rows{}) && table.Stays == "" {
		problems = append(problems, "nothing goes, and it does not say why")
	}
	named := append([]string{table.Purge.Column, table.Forget.Column, table.Number}, table.Staff...)
	for _, name := range named {
		if name != "" && !slices.Contains(columns, name) {
			problems = append(problems, "there is no column "+name)
		}
	}
	for _, column := range columns {
		said := slices.Contains(named, column) || strings.Contains(table.Stays, column)
		if aboutPeople.MatchString(column) && !said {
			problems = append(problems, column+" may name somebody, and what becomes of it is not said")
		}
	}
	return problems
}

// A table without a word is refused, and so is a column about people that is not named.
func TestUnsaid(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		table   migrations.Table
		columns []string
		says    string
	}{
		{migrations.Table{}, []string{"id"}, "nothing goes"},
		{migrations.Table{Stays: "for ever"}, nil, "no such table"},
		{migrations.Table{Stays: "for ever"}, []string{"user_id"}, "user_id may name somebody"},
		{migrations.Table{Stays: "for ever", Staff: []string{"actor"}}, []string{"id"}, "no column actor"},
		{migrations.Table{Stays: "for ever", Staff: []string{"actor"}}, []string{"actor"}, ""},
	} {
		if got := strings.Join(unsaid(c.table, c.columns), "; "); (got == "") != (c.says == "") ||
			!strings.Contains(got, c.says) {
			t.Errorf("%+v with %v: %q, want %q", c.table, c.columns, got, c.says)
		}
	}
}
