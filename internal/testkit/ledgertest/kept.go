package ledgertest

import (
	"testing"

	"gorm.io/gorm"

	"seckill/internal/order"
	"seckill/internal/sqlstore/sqlkit"
)

// KeptSale changes the kept units of a sale in one transaction, as a waiting list does.
func (l Ledger) KeptSale(tb testing.TB, voucherID int64, change func(s sqlkit.KeptSale) error) {
	tb.Helper()
	err := l.DB().WriteRetry(tb.Context(), func(tx *gorm.DB) error {
		s, err := l.Features.KeptUnits(tx, voucherID)
		if err != nil {
			return err
		}
		return change(s)
	})
	if err != nil {
		tb.Fatal(err)
	}
}

// OpenList opens a sale's waiting list: units that come back are kept from now on.
func (l Ledger) OpenList(tb testing.TB, voucherID int64) {
	tb.Helper()
	l.KeptSale(tb, voucherID, func(s sqlkit.KeptSale) error { return s.SetOpen(true) })
}

// Accepts records that a user accepts a kept unit as the order, an operation about which Redis decides.
func (l Ledger) Accepts(tb testing.TB, voucherID, user, orderID int64) {
	tb.Helper()
	l.KeptSale(tb, voucherID, func(s sqlkit.KeptSale) error {
		_, err := s.Ask([]sqlkit.Acceptance{{UserID: user, OrderID: orderID}}, RecordedAt)
		return err
	})
}

// Turned notifies the hooks of turns on a waiting list.
func (l Ledger) Turned(tb testing.TB, voucherID int64, turns ...order.Turn) {
	tb.Helper()
	l.KeptSale(tb, voucherID, func(s sqlkit.KeptSale) error { return s.Turned(turns) })
}
