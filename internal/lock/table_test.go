package lock_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the table of rows into README.md")

const (
	document = "README.md"
	beginsAt = "<!-- rows:begin -->\n"
	endsAt   = "<!-- rows:end -->"
)

// TestDocumentHasTheTable fails if the document's table differs from the suite's rows.
func TestDocumentHasTheTable(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, foundBegin := bytes.Cut(text, []byte(beginsAt))
	table, tail, foundEnd := bytes.Cut(rest, []byte(endsAt))
	if !foundBegin || !foundEnd {
		t.Fatalf("%s has no lines %q and %q", document, strings.TrimSpace(beginsAt), endsAt)
	}
	if *update {
		whole := string(head) + beginsAt + rowsTable() + endsAt + string(tail)
		if err := os.WriteFile(document, []byte(whole), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(rowsTable(), string(table)); diff != "" {
		t.Errorf("the table differs from the suite; write it with make docs\n%s", diff)
	}
}

// rowsTable returns the rows, and the kinds that claim them, as markdown.
func rowsTable() string {
	var b strings.Builder
	b.WriteString("| | | Row |")
	for _, k := range kinds {
		fmt.Fprintf(&b, " %s |", k.name)
	}
	fmt.Fprintf(&b, "\n| --- | --- | --- |%s\n", strings.Repeat(" :-: |", len(kinds)))
	group := ""
	for _, r := range rows() {
		name := ""
		if r.group != group {
			group, name = r.group, r.group
		}
		fmt.Fprintf(&b, "| %s | %d | %s |", name, r.number, r.says)
		for _, k := range kinds {
			mark := "–"
			if slices.Contains(k.claims, r.number) {
				mark = "✓"
			}
			fmt.Fprintf(&b, " %s |", mark)
		}
		b.WriteString("\n")
	}
	return b.String()
}
