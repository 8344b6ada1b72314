package httpapi

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"seckill/internal/testkit"
)

var update = flag.Bool("update", false, "write the codes into docs/http.md and the console's refusals")

// TestDocumentHasTheCodes: docs/http.md lists the codes of the error table.
func TestDocumentHasTheCodes(t *testing.T) {
	t.Parallel()
	testkit.Generated(t, "../../docs/http.md", "<!-- codes:begin -->\n", "<!-- codes:end -->\n", codesTable(), *update)
}

// TestDocumentOfRefusals: the console shows the refusals of the error table.
func TestDocumentOfRefusals(t *testing.T) {
	t.Parallel()
	text, err := refusalsModule()
	if err != nil {
		t.Fatal(err)
	}
	testkit.Generated(t, "../../web/assets/admin/refusals.js", "", "", text, *update)
}

// codesTable is every code with its status and all that it can mean, as markdown.
func codesTable() string {
	type row struct {
		code     string
		status   int
		meanings []string
	}
	var rows []row
	for _, f := range append(failures(), internalFailure()) {
		i := slices.IndexFunc(rows, func(r row) bool { return r.code == f.code })
		if i < 0 {
			i = len(rows)
			rows = append(rows, row{code: f.code, status: f.status})
		}
		if !slices.Contains(rows[i].meanings, f.detail) {
			rows[i].meanings = append(rows[i].meanings, f.detail)
		}
	}
	var b strings.Builder
	b.WriteString("| Code | Status | Meaning |\n| --- | --- | --- |\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| `%s` | %d | %s |\n", r.code, r.status, strings.Join(r.meanings, " "))
	}
	return b.String()
}

// refusalsModule is a JavaScript module with what a sale refuses, as admins read it.
func refusalsModule() (string, error) {
	l, err := newLanguages()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("// @ts-check\n// Why a sale refuses requests, in the order shown: rows that change places each second cannot be read.\n// Generated from internal/httpapi/errors_table.go by make docs.\n\n")
	b.WriteString("/** @type {({code: string} & Record<import('../words.js').Language, string>)[]} */\nexport const REFUSALS = [\n")
	for _, f := range failures() {
		if f.label == ([languageCount]string{}) {
			continue
		}
		fmt.Fprintf(&b, "  { code: %q", f.code)
		for t, label := range f.label {
			fmt.Fprintf(&b, ", %s: %q", l.names[t][0], label)
		}
		b.WriteString(" },\n")
	}
	b.WriteString("];\n")
	return b.String(), nil
}
