package report

import (
	"os"
	"strings"
	"testing"
)

// TestDescribedHeads: web/openapi.yaml shows the heads of all files.
func TestDescribedHeads(t *testing.T) {
	t.Parallel()
	described, err := os.ReadFile("../../../web/openapi.yaml")
	for _, heads := range [][]string{
		headsOf(orderColumns("")), headsOf(paymentColumns("")), auditHead(), headsOf(timelineColumns()),
	} {
		if head := strings.Join(heads, ","); err != nil || !strings.Contains(string(described), head) {
			t.Errorf("web/openapi.yaml does not show the head %s: %v", head, err)
		}
	}
}
