package report

import (
	"os"
	"strings"
	"testing"
)

// TestDescribedHeads: web/openapi.yaml shows the heads of all files.
func TestDescribedHeads(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../web/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	described := map[string]bool{} // whole lines, so that a head that lacks its last column is noticed
	for line := range strings.Lines(string(text)) {
		described[strings.TrimSpace(line)] = true
	}
	for _, heads := range [][]string{
		textsOf(headsOf(orderColumns(""))), textsOf(headsOf(paymentColumns("", nil))),
		textsOf(headsOf(auditColumns(nil))),
		textsOf(headsOf(timelineColumns())),
	} {
		if head := strings.Join(heads, ","); !described[head] {
			t.Errorf("web/openapi.yaml does not show the head %s", head)
		}
	}
}
