package upgrade

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// dumpSQL returns the statements that make the schema's tables and rows.
func (s *stores) dumpSQL() string {
	s.Helper()
	ctx := s.Context()
	var out strings.Builder
	for _, table := range s.texts(ctx, "SHOW TABLES") {
		var name, create string
		s.must(s.ledger.DB.QueryRowContext(ctx, "SHOW CREATE TABLE `"+table+"`").Scan(&name, &create))
		fmt.Fprintf(&out, "%s;\n", create)
		columns := s.texts(ctx, "SELECT column_name FROM information_schema.columns "+
			"WHERE table_schema = DATABASE() AND table_name = ? AND generation_expression IS NULL ORDER BY ordinal_position", table)
		list := "`" + strings.Join(columns, "`, `") + "`"
		for _, row := range s.rowsOf(ctx, table, list, len(columns)) {
			fmt.Fprintf(&out, "INSERT INTO `%s` (%s) VALUES (%s);\n", table, list, row)
		}
	}
	return out.String()
}

// texts returns the one column of a query.
func (s *stores) texts(ctx context.Context, query string, args ...any) (all []string) {
	s.Helper()
	rows, err := s.ledger.DB.QueryContext(ctx, query, args...)
	s.must(err)
	defer rows.Close()
	for rows.Next() {
		var text string
		s.must(rows.Scan(&text))
		all = append(all, text)
	}
	s.must(rows.Err())
	return all
}

// rowsOf returns a table's rows as lists of SQL literals.
func (s *stores) rowsOf(ctx context.Context, table, columns string, n int) (all []string) {
	s.Helper()
	// As texts, which is what the server itself makes of every type.
	rows, err := s.ledger.DB.QueryContext(ctx, "SELECT CONCAT_WS('', "+strings.ReplaceAll(columns, ", ", "), CONCAT_WS('', ")+"), "+
		strings.ReplaceAll(columns, ", ", " IS NULL, ")+" IS NULL FROM `"+table+"` ORDER BY 1, 2")
	s.must(err)
	defer rows.Close()
	for rows.Next() {
		texts, nulls, into := make([]sql.NullString, n), make([]bool, n), make([]any, 2*n)
		for i := range n {
			into[i], into[n+i] = &texts[i], &nulls[i]
		}
		s.must(rows.Scan(into...))
		literals := make([]string, n)
		for i, text := range texts {
			literals[i] = literal(text.String)
			if nulls[i] {
				literals[i] = "NULL"
			}
		}
		all = append(all, strings.Join(literals, ", "))
	}
	s.must(rows.Err())
	return all
}

// literal is a text as SQL: legible, unless something in it is not.
func literal(text string) string {
	for _, r := range text {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return fmt.Sprintf("X'%X'", text)
		}
	}
	return "'" + strings.NewReplacer(`\`, `\\`, "'", "''").Replace(text) + "'"
}

// load runs the statements of a dump in the empty schema.
func (s *stores) load(dump string) {
	s.Helper()
	for statement := range strings.SplitSeq(strings.TrimSuffix(dump, ";\n"), ";\n") {
		if _, err := s.ledger.DB.ExecContext(s.Context(), statement); err != nil {
			s.Fatalf("%.200s: %v", statement, err)
		}
	}
	// The orders were made when the fixture was: without this, their payment deadlines would pass some day.
	_, err := s.ledger.DB.ExecContext(s.Context(), "UPDATE tb_voucher_order SET pay_deadline = UTC_TIMESTAMP(3) + INTERVAL ? SECOND "+
		"WHERE pay_deadline IS NOT NULL", int64(payWithin.Seconds()))
	s.must(err)
}
