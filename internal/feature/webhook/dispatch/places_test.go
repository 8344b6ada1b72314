package dispatch

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"seckill/internal/order"
)

// read returns a file of the repository.
func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile("../../../../" + path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// declared returns what the first group of the pattern matches in a file: types of events, after the prefix.
func declared(t *testing.T, path, pattern, prefix string) (types []Type) {
	t.Helper()
	for _, found := range regexp.MustCompile(pattern).FindAllStringSubmatch(read(t, path), -1) {
		types = append(types, Type(prefix+found[1]))
	}
	if len(types) == 0 {
		t.Fatalf("%s declares no type of events", path)
	}
	return types
}

// TestEachTypeHasItsPlaces checks that every type of events that is declared is also in the list, on the console and in
// the documents. It names what lacks the type.
func TestEachTypeHasItsPlaces(t *testing.T) {
	t.Parallel()
	types := slices.Concat(
		declared(t, "internal/feature/webhook/dispatch/event.go", `Type += "([a-z_.]+)"`, ""),
		declared(t, "internal/feature/webhook/dispatch/event_payment.go", `Type += "([a-z_.]+)"`, ""),
		declared(t, "internal/feature/webhook/dispatch/event_sale.go", `Type += "([a-z_.]+)"`, ""),
		declared(t, "internal/order/change.go", `TurnKind = "([a-z_]+)"`, "waitlist."))
	for s := order.Status(0); s.String() != "unknown"; s++ {
		if s != order.Queued { // has no row yet
			types = append(types, typeOf(s))
		}
	}
	types = slices.DeleteFunc(types, func(typ Type) bool { return typ == Test }) // only sent on request
	console := read(t, "web/assets/admin/webhooks.js")
	texts := read(t, "web/assets/admin/event-texts.js") + read(t, "web/assets/admin/texts.js")
	english, chinese := read(t, "docs/coupons.md"), read(t, "docs/coupons.zh-CN.md")
	for _, typ := range types {
		group, name, _ := strings.Cut(string(typ), ".")
		for place, has := range map[string]bool{
			"Types in internal/feature/webhook/dispatch/event.go": slices.Contains(Types(), typ),
			"TYPES in web/assets/admin/webhooks.js": regexp.MustCompile(
				`(?m)^\s*'?` + group + `'?: .*\b` + name + `\b`).MatchString(console),
			"web/assets/admin/event-texts.js": strings.Contains(texts, "'"+string(typ)+"'") ||
				strings.Contains(texts, "'event."+string(typ)+"'"),
			"docs/coupons.md": strings.Contains(english, "`"+string(typ)+"`"),
			"docs/coupons.zh-CN.md": strings.Contains(chinese, "`"+string(typ)+"`") ||
				strings.Contains(chinese, "`"+name+"`"),
		} {
			if !has {
				t.Errorf("%s is missing in %s", typ, place)
			}
		}
	}
	for _, typ := range Types() {
		if !slices.Contains(types, typ) {
			t.Errorf("%s is in the list, and this test does not find where it is declared", typ)
		}
	}
}
