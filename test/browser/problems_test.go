package browser

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"seckill/internal/order"
)

// TestProblemsInChinese: whatever the service says of a field that the console sends, the console says it in Chinese. What it says is
// read out of its source.
func TestProblemsInChinese(t *testing.T) {
	t.Parallel()
	said := map[string]bool{
		`is "x", which is not an id`: true, "a whole number from 1 to 42": true, // of a list's filter
		"an amount from 0 to 10,000": true, "a number from 0.5 to 1,440": true, // as the form says them
		"is 1.5, a fraction or a number with an exponent": true, "a whole number": true, "an amount": true, "minutes that come to whole seconds": true,
		"is missing": true, "is 0, which is out of range": true, "a whole number of seconds": true,
		"https://host/path, or http:// where SECKILL_WEBHOOK_ALLOW lists the address; without user, password or fragment": true,
		"0, 2, 3; or leave it out": true, "is 1, which is closed": true, "is 1, which is removed": true,
	}
	for _, folder := range []string{"voucher", "guard", "webhook"} {
		for text := range problemsOf(t, "../../internal/"+folder) {
			said[text] = true
		}
	}
	if len(said) < 50 {
		t.Fatalf("only %d texts were found: %v", len(said), said)
	}
	var english []string
	for text := range said {
		if strings.ContainsFunc(text, unicode.IsLetter) {
			english = append(english, text)
		}
	}
	list, err := json.Marshal(english)
	if err != nil {
		t.Fatal(err)
	}
	s := embeddedShop(t)
	w := open(t, s.url("/admin"), s.asAdmin(desktop().in("zh-CN").inDark()))
	w.sees("h1", "优惠券")
	chinese := evaluate[[]string](w, fmt.Sprintf(`(async () => {
  const base = document.querySelector('script[type=module]').src.replace(/[^/]+$/, '');
  const { inChinese } = await import(base + 'problems.js');
  return %s.map(inChinese);
})()`, list))
	for i, text := range chinese {
		if text == english[i] || strings.Contains(text, "$") {
			t.Errorf("%q has no Chinese: %q", english[i], text)
		}
	}

	w.click("[data-act=create]")
	for field, value := range map[string]string{"title": "五折优惠券", "payValue": "10", "actualValue": "100", "stock": "400", "shares": "17"} {
		w.enter("#f-"+field, value)
	}
	evaluate[bool](w, "document.querySelector('#f-payWithin').value = '100000', true")
	w.click("[data-act=save]")
	w.sees("#f-shares-wrong", "当前为 17（1 到 16 的整数）")
	w.sees("#f-payWithin-wrong", "当前为 100,000（")
	w.accessible()
}

// TestWhysInWords: the pages have words for whatever the history of an order gives as a reason, in both languages. The reasons are read out of
// the ledger's source.
func TestWhysInWords(t *testing.T) {
	t.Parallel()
	reasons := map[string]bool{"reserved until 2026-11-11T20:00:00Z": true, "the reservation was released": true}
	for pattern, folder := range map[string]string{
		`(?:why: |why :?= |(?:refuse|note)\(order\.\w+, |noUnitForLate = )"([^"]+)"`: "../../internal/sqlstore", `\tReason = "([A-Z_]+)"|Reason = "([A-Z_]+)"`: "../../internal/order",
	} {
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			source, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, found := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(source), -1) {
				reasons[strings.Join(found[1:], "")] = !strings.HasSuffix(name, "_test.go") || reasons[strings.Join(found[1:], "")]
			}
		}
	}
	maps.DeleteFunc(reasons, func(_ string, stored bool) bool { return !stored })
	if len(reasons) < 20 {
		t.Fatalf("only %d reasons were found: %v", len(reasons), reasons)
	}
	list, err := json.Marshal(slices.Collect(maps.Keys(reasons)))
	if err != nil {
		t.Fatal(err)
	}
	w := open(t, embeddedShop(t).url("/"), desktop())
	w.sees(button("grab"), "")
	said := evaluate[[][]string](w, fmt.Sprintf(`Promise.all(['whys', 'words'].map((name) => import('/assets/' + name + '.js'))).then(([{ why }, { speak }]) =>
  %s.map((stored) => [stored, ...['en', 'zh'].map((language) => why(stored, speak(language, {})))]))`, list))
	for _, of := range said {
		if !strings.ContainsFunc(of[1], unicode.IsLower) || !strings.ContainsFunc(of[2], func(r rune) bool { return unicode.Is(unicode.Han, r) }) || strings.Contains(of[1]+of[2], "T20:") {
			t.Errorf("%q is said as %q and %q", of[0], of[1], of[2])
		}
	}
}

// problemsOf returns the reasons, and what is allowed, of the problems that a package finds, with values in their gaps.
func problemsOf(t *testing.T, folder string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			for _, e := range textsOf(n) {
				found[sampleOf(e)] = true
			}
			return true
		})
	}
	return found
}

// textsOf returns the texts of a problem that is made there: by a call of bad or wrong, or as a literal.
func textsOf(n ast.Node) []ast.Expr {
	switch n := n.(type) {
	case *ast.CallExpr:
		if f, ok := n.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "bad" && len(n.Args) == 3 {
			return n.Args[1:]
		}
		if f, ok := n.Fun.(*ast.Ident); ok && f.Name == "wrong" {
			return n.Args
		}
	case *ast.KeyValueExpr:
		if key, ok := n.Key.(*ast.Ident); ok && (key.Name == "Reason" || key.Name == "Allowed") {
			return []ast.Expr{n.Value}
		}
	}
	return nil
}

// gaps are the verbs of formats in texts of problems.
var gaps = regexp.MustCompile(`%[dsq]`)

// sampleOf returns a text as an expression may make it; "" where it is made elsewhere.
func sampleOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, _ := strconv.Unquote(e.Value)
		return text
	case *ast.BinaryExpr:
		left, right := sampleOf(e.X), sampleOf(e.Y)
		if left == "" && right == "" {
			return ""
		}
		return orValue(left) + orValue(right)
	case *ast.CallExpr:
		if f, ok := e.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Sprintf" {
			return gaps.ReplaceAllStringFunc(sampleOf(e.Args[0]), func(verb string) string {
				return map[string]string{"%d": "7", "%s": "7", "%q": `"x"`}[verb]
			})
		}
	}
	return ""
}

// orValue is a part of a text that is made elsewhere, as a number.
func orValue(part string) string {
	if part == "" {
		return "7"
	}
	return part
}

// TestActorsInWords: the console has words for everybody who changes orders.
func TestActorsInWords(t *testing.T) {
	t.Parallel()
	texts, err := os.ReadFile("../../web/assets/admin/texts.js")
	if err != nil {
		t.Fatal(err)
	}
	for _, by := range []order.Actor{
		order.Owner, order.ByRecorder, order.ByExpirer, order.ByProvider, order.ByPayments, order.ByService, order.ByLapser, order.ByWaitlist, "till.n", "admin.n",
	} {
		if !strings.Contains(string(texts), fmt.Sprintf("'by.%s': {", by)) {
			t.Errorf("no words for %q", by)
		}
	}
}
