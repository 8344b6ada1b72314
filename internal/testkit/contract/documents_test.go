package contract

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestNamedRoutesAndCodes: docs/http.md has every described route and code in its tables, and no others.
func TestNamedRoutesAndCodes(t *testing.T) {
	t.Parallel()
	c, err := Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../../docs/http.md")
	if err != nil {
		t.Fatal(err)
	}
	first := func(heading, pattern string) []string { // the matches in the first cells of the section's table
		_, section, _ := strings.Cut(string(text), "\n## "+heading+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		var all []string
		for _, cell := range regexp.MustCompile(`(?m)^\| ([^|]*) \|`).FindAllStringSubmatch(section, -1) {
			for _, match := range regexp.MustCompile(pattern).FindAllStringSubmatch(cell[1], -1) {
				all = append(all, match[1])
			}
		}
		slices.Sort(all)
		return slices.Compact(all) // a code has a line for each thing that it can mean
	}
	var routes []string
	for _, o := range c.Operations() {
		path := regexp.MustCompile(`\{(\w+)\}`).ReplaceAllString(o.Path, ":$1")
		routes = append(routes, o.Method+" "+path)
	}
	slices.Sort(routes)
	if diff := cmp.Diff(routes, first("Routes", "`([A-Z]+ /[^`]*)`")); diff != "" {
		t.Errorf("routes of openapi.yaml (-) and docs/http.md (+):\n%s", diff)
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(c.Failures())), first("Codes", "`([A-Z_]+)`")); diff != "" {
		t.Errorf("codes of openapi.yaml (-) and docs/http.md (+):\n%s", diff)
	}
}

// TestNamedColumns: each column of orders.csv and payments.csv is a member of an order or a payment, which
// web/openapi.yaml describes. Only whyCode of an order is described with the file itself.
func TestNamedColumns(t *testing.T) {
	t.Parallel()
	c, err := Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for path, schema := range map[string]string{
		"/admin/voucher/{id}/orders.csv": "Order", "/admin/payments.csv": "Payment",
	} {
		file := c.doc.Paths.Value(path).Get.Responses.Value("200").Value.Content.Get("text/csv")
		columns, _ := columnsOf(fmt.Sprint(file.Example))
		if len(columns) < 10 {
			t.Errorf("%s has only the columns %v: is its example right?", path, columns)
		}
		for _, column := range columns {
			within := c.doc.Components.Schemas[schema]
			for member := range strings.SplitSeq(column, ".") {
				if within != nil {
					s, _ := whole(within)
					within = s.Properties[member]
				}
			}
			if within == nil && column != "whyCode" {
				t.Errorf("%s has the column %s, which is no member of %s", path, column, schema)
			}
		}
	}
}
