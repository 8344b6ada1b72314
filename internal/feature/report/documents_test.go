package report

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"seckill/internal/testkit"
)

var update = flag.Bool("update", false, "write the columns into docs/coupons.md")

// docs/coupons.md says what each column of orders.csv and payments.csv has, and web/openapi.yaml shows the heads of all
// files.
func TestDocumentOfColumns(t *testing.T) {
	t.Parallel()
	var table strings.Builder
	table.WriteString("| Column | What |\n| --- | --- |\n")
	for _, c := range orderColumns("") {
		fmt.Fprintf(&table, "| `%s` | %s |\n", c.head, c.what)
	}
	testkit.Generated(t, "../../../docs/coupons.md", "<!-- columns:begin -->\n", "<!-- columns:end -->\n",
		table.String(), *update)
	table.Reset()
	table.WriteString("| Column | What |\n| --- | --- |\n")
	for _, c := range paymentColumns() {
		fmt.Fprintf(&table, "| `%s` | %s |\n", c.head, c.what)
	}
	testkit.Generated(t, "../../../docs/coupons.md", "<!-- payment-columns:begin -->\n",
		"<!-- payment-columns:end -->\n", table.String(), *update)
	described, err := os.ReadFile("../../../web/openapi.yaml")
	for _, heads := range [][]string{orderHead(), paymentHead(), auditHead(), timelineHead()} {
		if head := strings.Join(heads, ","); err != nil || !strings.Contains(string(described), head) {
			t.Errorf("web/openapi.yaml does not show the head %s: %v", head, err)
		}
	}
}
