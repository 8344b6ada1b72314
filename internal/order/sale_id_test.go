package order

import (
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"seckill/internal/voucher"
)

func TestSaleIDText(t *testing.T) {
	t.Parallel()
	for text, id := range map[string]SaleID{
		"123": {VoucherID: 123}, "1": {VoucherID: 1}, "123.2": {VoucherID: 123, Share: 2}, "7.15": {VoucherID: 7, Share: 15},
		"9223372036854775807.1": {VoucherID: 1<<63 - 1, Share: 1},
	} {
		if got, err := ParseSaleID(text); err != nil || got != id || id.String() != text {
			t.Errorf("%q is read as %+v (%v), and %+v is written as %q", text, got, err, id, id)
		}
	}
	for _, text := range []string{
		"", "0", "-1", "+7", "07", " 7", "7 ", "7.", ".1", "7.0", "7.01", "7.+1", "7.-1", "7.16", "7.1.1", "7,1", "seven", "9223372036854775808",
	} {
		if got, err := ParseSaleID(text); err == nil {
			t.Errorf("%q is read as %+v", text, got)
		}
	}
}

func FuzzParseSaleID(f *testing.F) {
	for _, text := range []string{"123", "123.2", "7.0", "07", "7.16", "9223372036854775808", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		id, err := ParseSaleID(text)
		if err != nil {
			if id != (SaleID{}) {
				t.Errorf("%q is an error and %+v", text, id)
			}
			return
		}
		if id.String() != text || id.VoucherID < 1 || id.Share < 0 || id.Share >= voucher.MaxShares {
			t.Errorf("%q is read as %+v", text, id)
		}
	})
}

// Logs of a sale that is not split have its voucher's number, as ever.
func TestSaleIDInLogs(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	log := slog.New(slog.NewJSONHandler(&text, nil))
	log.Info("a", "voucher", SaleID{VoucherID: 7})
	log.Info("b", "voucher", SaleID{VoucherID: 7, Share: 3})
	var got []any
	for line := range strings.Lines(text.String()) {
		var fields struct{ Voucher any }
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatal(err)
		}
		got = append(got, fields.Voucher)
	}
	if len(got) != 2 || got[0] != float64(7) || got[1] != "7.3" {
		t.Errorf("logged as %v", got)
	}
}

func TestSaleIDOrder(t *testing.T) {
	t.Parallel()
	ids := []SaleID{{VoucherID: 7}, {VoucherID: 7, Share: 1}, {VoucherID: 7, Share: 15}, {VoucherID: 8}}
	for i, a := range ids {
		for j, b := range ids {
			if got := a.Compare(b); (got < 0) != (i < j) || (got == 0) != (i == j) {
				t.Errorf("%s compared with %s: %d", a, b, got)
			}
		}
	}
}
