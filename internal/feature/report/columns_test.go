package report

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/kit/xlsx"
	"seckill/internal/order"
)

func textsOf(fields []field) []string {
	texts := make([]string, len(fields))
	for i, f := range fields {
		texts[i] = f.text
	}
	return texts
}

// TestFields shows each kind of field to programs and to people.
func TestFields(t *testing.T) {
	t.Parallel()
	front := &httpkit.Front{Currency: "EUR", Zone: time.FixedZone("UTC+8", 8*60*60)}
	for _, tc := range []struct {
		field field
		csv   string
		sheet xlsx.Cell
	}{
		{field{plain, "660000000123456789"}, "660000000123456789", xlsx.Cell{Value: "660000000123456789"}},
		{field{typed, "=1+1"}, "'=1+1", xlsx.Cell{Value: "=1+1"}},
		{field{typed, "券"}, "券", xlsx.Cell{Value: "券"}},
		{field{number, "12"}, "12", xlsx.Cell{Style: xlsx.Number, Value: "12"}},
		{field{number, ""}, "", xlsx.Cell{Style: xlsx.Number}},
		{field{cents, "1005"}, "1005", xlsx.Cell{Style: xlsx.Amount, Value: "10.05"}},
		{field{cents, "-5"}, "-5", xlsx.Cell{Style: xlsx.Amount, Value: "-0.05"}},
		{field{cents, ""}, "", xlsx.Cell{}},
		{field{moment, "2026-01-01T18:00:00.000Z"}, "2026-01-01T18:00:00.000Z", xlsx.Cell{
			Style: xlsx.Moment, Value: "46024.083333333336", // 2 January, 02:00
		}},
		{field{moment, ""}, "", xlsx.Cell{}},
		{
			field{list, `[{"field":"stock","from":"5","to":"9"},{"field":"title","to":"x"}]`},
			`[{"field":"stock","from":"5","to":"9"},{"field":"title","to":"x"}]`,
			xlsx.Cell{Value: "stock: 5 → 9; title: x"},
		},
		{field{list, ""}, "", xlsx.Cell{}},
	} {
		if got := tc.field.inCSV(); got != tc.csv {
			t.Errorf("%+v in a CSV is %q", tc.field, got)
		}
		if diff := cmp.Diff(tc.sheet, tc.field.inSheet(front)); diff != "" {
			t.Errorf("%+v in a workbook (-want +got):\n%s", tc.field, diff)
		}
	}
	for path, want := range map[string]kind{
		"revenue": cents, "keptAmount": cents, "orders.paid.amount": cents, "payValue": cents,
		"orders.paid.units": number, "voucherId": typed,
	} {
		if got := figure(path, json.Number("1")); got.kind != want {
			t.Errorf("%s is of kind %d, want %d", path, got.kind, want)
		}
	}
}

// TestWorkbooks has each file as a workbook, too; one that is cut off is none.
func TestWorkbooks(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/admin/voucher/5/orders.csv?xlsx=true":   "masked",
		"/admin/voucher/5/report.csv?xlsx=true":   "keptAmount",
		"/admin/voucher/5/timeline.csv?xlsx=true": "accepted",
		"/admin/audit.csv?xlsx=true":              "changes",
		"/admin/payments.csv?xlsx=true":           "=1+1",
	} {
		status, body, err := get(t, fullReports(), &audit{}, path)
		if status != http.StatusOK || err != nil {
			t.Errorf("%s: %d, %v: %s", path, status, err, body)
			continue
		}
		book, err := zip.NewReader(bytes.NewReader([]byte(body)), int64(len(body)))
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		sheet, err := book.Open("xl/worksheets/sheet1.xml")
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(sheet)
		cells := strings.Join(regexp.MustCompile("<[^>]*>+").Split(string(text), -1), "|")
		if err != nil || !strings.Contains(cells, "|"+want) || strings.Contains(cells, csvEnd) {
			t.Errorf("%s: %v: %s", path, err, text)
		}
	}
	status, body, _ := get(t, fullReports(), &audit{}, "/admin/audit.csv?xlsx=maybe")
	if status != http.StatusBadRequest || !strings.Contains(body, "xlsx") {
		t.Errorf("a wrong flag: %d %s", status, body)
	}
	cut := fullReports()
	cut.cut = order.ErrUnavailable
	if _, body, err := get(t, cut, &audit{}, "/admin/voucher/5/orders.csv?xlsx=true"); err == nil {
		if _, err := zip.NewReader(strings.NewReader(body), int64(len(body))); err == nil {
			t.Error("a workbook that was cut off opens")
		}
	}
}
