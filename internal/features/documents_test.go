package features_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/feature/webhook/dispatch"
	"seckill/internal/features"
	"seckill/internal/httpapi"
	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/shop"
	"seckill/internal/kit/words"
	"seckill/internal/order/reason"
	"seckill/internal/testkit"
	"seckill/internal/testkit/contract"
)

var update = flag.Bool("update", false, "write the codes into the description, and the console's refusals")

// TestDocumentOfRefusals checks that the console has the refusals of the error table.
func TestDocumentOfRefusals(t *testing.T) {
	t.Parallel()
	testkit.Generated(t, "../../web/assets/admin/refusals.js", "", "", refusalsModule(), *update)
}

// TestDocumentOfWords checks that the pages have the texts of all codes, and that the description lists the codes.
func TestDocumentOfWords(t *testing.T) {
	t.Parallel()
	tables := map[string]map[string]words.Text{
		"reason": declared(t, "NewReason"), "allowed": declared(t, "NewAllowed"),
		"failure": byCode(dispatch.FailureCodes()), "why": byCode(reason.All()),
	}
	for name, table := range tables {
		for code, text := range table {
			if !slices.Equal(gaps(text[words.English]), gaps(text[words.Chinese])) || slices.Contains(text[:], "") {
				t.Errorf("%s %s: the languages differ: %q", name, code, text)
			}
		}
	}
	const web = "../../web/"
	testkit.Generated(t, web+"assets/whys.js", "", "",
		wordsModule("Why something happened to an order", "WHYS", tables, "why"), *update)
	testkit.Generated(t, web+"assets/admin/codes.js", "", "",
		wordsModule("What is wrong with an input, what would be right, and why a webhook was not taken", "CODES",
			tables, "reason", "allowed", "failure"), *update)
	var schemas strings.Builder
	schemas.WriteString("    ProblemCode:\n      type: string\n      pattern: \"^[A-Z_]+$\"\n" +
		described("Why a request was not done. Stable: programs read it.\n\n"+codesTable()))
	for _, e := range []struct{ schema, name, about string }{
		{"ReasonCode", "reason", "What is wrong with a field. A name in braces is a member of data."},
		{"AllowedCode", "allowed", "What would be right. A name in braces is a member of data."},
		{"FailureCode", "failure", "Why an endpoint did not take an event. A name in braces is a member of data."},
		{"WhyCode", "why", "Why something happened to an order. A name in braces is a member of the entry."},
	} {
		fmt.Fprintf(&schemas, "    %s:\n      type: string\n      enum: [%s]\n%s", e.schema,
			strings.Join(slices.Sorted(maps.Keys(tables[e.name])), ", "),
			described(e.about+"\n\n"+wordsTable(tables[e.name])))
	}
	testkit.Generated(t, web+"openapi.yaml", "    # Written by make docs.\n", "    # End of what make docs writes.\n",
		schemas.String(), *update)
}

// declared returns the texts of the codes that this module's packages declare with the constructor of package invalid.
func declared(t *testing.T, constructor string) map[string]words.Text {
	t.Helper()
	texts := make(map[string]words.Text)
	visit := func(n ast.Node) {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) != 3 {
			return
		}
		name, qualified := call.Fun.(*ast.SelectorExpr)
		bare, _ := call.Fun.(*ast.Ident)
		if qualified {
			bare = name.Sel
		}
		if bare == nil || bare.Name != constructor {
			return
		}
		code := literal(t, call.Args[0])
		if _, twice := texts[code]; twice {
			t.Errorf("%s is declared twice", code)
		}
		texts[code] = words.Text{literal(t, call.Args[1]), literal(t, call.Args[2])}
	}
	err := filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err == nil {
			for n := range ast.Preorder(file) {
				visit(n)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

// literal returns the text of a string literal, or of several with + between them.
func literal(t *testing.T, e ast.Expr) string {
	t.Helper()
	if sum, ok := e.(*ast.BinaryExpr); ok {
		return literal(t, sum.X) + literal(t, sum.Y)
	}
	lit, ok := e.(*ast.BasicLit)
	if !ok {
		t.Fatalf("%T is no literal: make docs could not read it", e)
	}
	text, err := strconv.Unquote(lit.Value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// described returns the description of a schema as a YAML block, in which markdown needs no quotes.
func described(text string) string {
	var b strings.Builder
	b.WriteString("      description: |\n")
	for line := range strings.Lines(text) {
		if line != "\n" {
			b.WriteString("        ")
		}
		b.WriteString(line)
	}
	return b.String()
}

func byCode[C ~string](table map[C]words.Text) map[string]words.Text {
	all := make(map[string]words.Text, len(table))
	for code, text := range table {
		all[string(code)] = text
	}
	return all
}

// gaps returns the names of a text's placeholders.
func gaps(text string) []string {
	found := regexp.MustCompile(`\{\w+\}`).FindAllString(text, -1)
	slices.Sort(found)
	return found
}

// wordsModule returns a JavaScript module with tables of texts.
func wordsModule(what, name string, tables map[string]map[string]words.Text, names ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "// @ts-check\n// %s, by code.\n// Generated from the tables of the service by make docs.\n\n",
		what)
	fmt.Fprintf(&b, "/** @type {Record<string, Record<'en' | 'zh', string>>} */\nexport const %s = {\n", name)
	for _, table := range names {
		for _, code := range slices.Sorted(maps.Keys(tables[table])) {
			text := tables[table][code]
			fmt.Fprintf(&b, "  '%s.%s': { en: %q, zh: %q },\n", table, code, text[words.English], text[words.Chinese])
		}
	}
	b.WriteString("};\n")
	return b.String()
}

// wordsTable formats a table of texts as markdown.
func wordsTable(table map[string]words.Text) string {
	var b strings.Builder
	b.WriteString("| Code | Words |\n| --- | --- |\n")
	for _, code := range slices.Sorted(maps.Keys(table)) {
		fmt.Fprintf(&b, "| `%s` | %s |\n", code, table[code][words.English])
	}
	return b.String()
}

// codesTable formats all codes as markdown, each with its status and a line for each of its meanings.
func codesTable() string {
	var b strings.Builder
	b.WriteString("| Code | Status | Meaning |\n| --- | --- | --- |\n")
	all, told := failures(), map[string]bool{}
	for _, first := range all {
		for _, f := range all {
			line := fmt.Sprintf("| %#q | %d | %s |\n", f.Code, f.Status, f.Detail)
			if f.Code == first.Code && !told[line] { // the table is sorted by code
				told[line] = true
				b.WriteString(line)
			}
		}
	}
	return b.String()
}

// refusalsModule returns a JavaScript module with the refusals of a sale in the words that admins read.
func refusalsModule() string {
	var b strings.Builder
	b.WriteString("// @ts-check\n// Why a sale refuses requests, in the order shown: rows that change places each " +
		"second cannot be read.\n// Generated from internal/httpapi/shop/errors.go by make docs.\n\n")
	b.WriteString("/** @type {({code: string} & Record<import('../words.js').Language, string>)[]} */\n" +
		"export const REFUSALS = [\n")
	for _, f := range failures() {
		if f.Label == (words.Text{}) {
			continue
		}
		fmt.Fprintf(&b, "  { code: %q", f.Code)
		for t, label := range f.Label {
			fmt.Fprintf(&b, ", %s: %q", words.Language(t).String(), label)
		}
		b.WriteString(" },\n")
	}
	b.WriteString("];\n")
	return b.String()
}

// TestDescribedFailuresExist checks that each example of an error is what the service answers.
func TestDescribedFailuresExist(t *testing.T) {
	t.Parallel()
	c, err := contract.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	examples := c.Failures()
	told := map[string][]map[string]any{}
	for _, f := range failures() {
		body := map[string]any{
			"type":  "urn:seckill:problem:" + strings.ReplaceAll(strings.ToLower(f.Code), "_", "-"),
			"title": f.Title, "status": float64(f.Status), "detail": f.Detail,
			"success": false, "code": f.Code, "errorMsg": f.English,
		}
		told[f.Code] = append(told[f.Code], body)
	}
	for code, bodies := range told {
		example, has := examples[code]
		if !has {
			// METHOD is of no operation; OFF_SHELF is counted among the answers, but told as NOT_FOUND.
			if code != "METHOD" && code != "OFF_SHELF" {
				t.Errorf("no example of %s", code)
			}
			continue
		}
		delete(example, "data")
		delete(example, "errors")
		if !slices.ContainsFunc(bodies, func(body map[string]any) bool { return cmp.Equal(body, example) }) {
			t.Errorf("wrong example of %s (-example +answer):\n%s", code, cmp.Diff(example, bodies[0]))
		}
		delete(examples, code)
	}
	for code := range examples {
		t.Errorf("the example %s belongs to no error", code)
	}
}

// failures returns the failures of the core and of all features.
func failures() []httpkit.Failure {
	return httpapi.Failures(slices.Concat(shop.Rules(), features.List().Rules()))
}
