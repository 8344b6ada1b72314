package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/order"
	"seckill/internal/voucher"
)

// Each payment is a line, with no formula in it, and the audit trail says who exported which.
func TestPaymentsCSV(t *testing.T) {
	t.Parallel()
	trail := &audit{}
	lines, _ := download(t, trail, "/admin/payments.csv?voucherId=5&shopId=2&dispute=lost")
	want := [][]string{
		textsOf(headsOf(paymentColumns("", nil))),
		{
			"pay_1", "8", "5", "2", "42", "bank", "'=1+1", "stuck", "1000", "CNY", "1000", "300", "lost", "600",
			"100", "2026-01-02T12:00:00.000Z", "2026-01-02T12:00:01.000Z", "", "", "2026-01-02T12:01:00.000Z",
			"2026-01-02T12:02:00.000Z", "'-no", "", "300", "600", "", "", "", "Bakery",
		},
		append([]string{csvEnd, "1"}, make([]string, len(headsOf(paymentColumns("", nil)))-2)...),
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if noted := trail.noted; len(noted) != 1 || noted[0].Action != voucher.Exported || noted[0].VoucherID != 5 ||
		noted[0].ShopID != 2 || noted[0].Changes[0].To != "voucherId=5&shopId=2&dispute=lost" {
		t.Errorf("the audit trail has %+v", noted)
	}
}

// An export of payments that breaks off has no last line, and one that cannot be noted has no line.
func TestPaymentsCSVThatIsCutOff(t *testing.T) {
	t.Parallel()
	reports := fullReports()
	reports.cut = order.ErrUnavailable
	_, body, err := get(t, reports, &audit{}, "/admin/payments.csv")
	if err == nil || !strings.Contains(body, "pay_1") || strings.Contains(body, csvEnd) {
		t.Errorf("%v after %q", err, body)
	}
	status, body, err := get(t, fullReports(), &audit{err: order.ErrUnavailable}, "/admin/payments.csv")
	if status != 503 || strings.Contains(body, "pay_1") {
		t.Errorf("%d %s, %v", status, body, err)
	}
}
