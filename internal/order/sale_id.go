package order

import (
	"cmp"
	"fmt"
	"log/slog"
	"strconv"
	"strings"

	"seckill/internal/voucher"
)

// SaleID names a sale: the one of a voucher, or one share of a split one. Everything that is one share's own goes by it: its keys,
// row, marks, entries, operations, locks. What belongs to all shares of a voucher goes by the voucher's id.
type SaleID struct {
	VoucherID int64
	Share     int // 0 to voucher.MaxShares-1; a sale that is not split is share 0
}

// String returns the text of the sale's name in Redis keys and entries, in the names of locks, and in logs: "123", of share 2 "123.2".
// A program that knows no shares reads the latter as no voucher at all.
func (id SaleID) String() string {
	text := strconv.FormatInt(id.VoucherID, 10)
	if id.Share == 0 {
		return text
	}
	return text + "." + strconv.Itoa(id.Share)
}

// ParseSaleID reads what String writes, and nothing else: "7.0", "07" and "+7" are no names of a sale.
func ParseSaleID(text string) (SaleID, error) {
	number, share, split := strings.Cut(text, ".")
	id := SaleID{}
	var err error
	if id.VoucherID, err = strconv.ParseInt(number, 10, 64); err != nil {
		return SaleID{}, fmt.Errorf("%.80q names no sale: %w", text, err)
	}
	if split {
		if id.Share, err = strconv.Atoi(share); err != nil {
			return SaleID{}, fmt.Errorf("%.80q names no sale: %w", text, err)
		}
	}
	if id.VoucherID < 1 || id.Share < 0 || id.Share >= voucher.MaxShares || id.String() != text {
		return SaleID{}, fmt.Errorf("%.80q names no sale: it is a voucher's id, and of a share above 0 a dot and its number below %d",
			text, voucher.MaxShares)
	}
	return id, nil
}

// Compare orders sales by voucher, then by share: the order in which transactions lock their rows.
func (id SaleID) Compare(other SaleID) int {
	return cmp.Or(cmp.Compare(id.VoucherID, other.VoucherID), cmp.Compare(id.Share, other.Share))
}

// LogValue implements slog.LogValuer: a number where the sale is not split.
func (id SaleID) LogValue() slog.Value {
	if id.Share == 0 {
		return slog.Int64Value(id.VoucherID)
	}
	return slog.StringValue(id.String())
}
