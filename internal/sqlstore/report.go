package sqlstore

import (
	"context"
	"fmt"
	"maps"
	"time"

	"seckill/internal/order"
	"seckill/internal/order/redemption"
	"seckill/internal/order/report"
	"seckill/internal/order/waitlist"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher"
)

// tallyRow are the orders of one state.
type tallyRow struct {
	Stock, Issued        int64
	Status               *order.Status // NULL where there are no orders
	Expired              bool
	Orders, Units, Cents int64
}

// Sums implements report.Ledger. One statement sees one moment. It walks the voucher's orders by their index, without
// locks: a million of them take seconds.
func (s *Store) Sums(ctx context.Context, voucherID int64) (report.Sums, error) {
	what := fmt.Sprintf("adding up the orders of voucher %d", voucherID)
	var rows []tallyRow
	// An owner may still cancel at their deadline, before the expirer comes: then too the order ended by not being
	// paid in time.
	err := s.db.Read(ctx).Raw(
		"SELECT COALESCE((SELECT SUM(s.stock) FROM tb_seckill_voucher s WHERE s.voucher_id = v.id), 0) AS stock, "+
			"COALESCE((SELECT SUM(s.issued) FROM tb_seckill_voucher s WHERE s.voucher_id = v.id), 0) AS issued, "+
			"o.status, COALESCE(o.expired, 0) AS expired, COALESCE(o.orders, 0) AS orders, COALESCE(o.units, "+
			"0) AS units, COALESCE(o.cents, 0) AS cents FROM tb_voucher v LEFT JOIN "+
			"(SELECT voucher_id, status, CASE WHEN status = @cancelled AND cancel_time >= pay_deadline THEN 1 "+
			"ELSE 0 END AS expired, COUNT(*) AS orders, SUM(quantity) AS units, SUM(amount) AS cents "+
			"FROM tb_voucher_order WHERE voucher_id = @voucher GROUP BY voucher_id, status, expired) o ON "+
			"o.voucher_id = v.id WHERE v.id = @voucher",
		map[string]any{"voucher": voucherID, "cancelled": order.Cancelled}).Find(&rows).Error
	switch {
	case err != nil:
		return report.Sums{}, sqlkit.ReadError(what, err)
	case len(rows) == 0:
		return report.Sums{}, fmt.Errorf("%s: %w", what, voucher.ErrNotFound)
	}
	sums := report.Sums{Stock: rows[0].Stock, Issued: rows[0].Issued}
	for _, row := range rows {
		if tally := row.of(&sums); tally != nil {
			*tally = report.Tally{Orders: row.Orders, Units: row.Units, Cents: row.Cents}
		}
	}
	return sums, nil
}

// of returns which tally the row is; nil for none.
func (r tallyRow) of(sums *report.Sums) *report.Tally {
	if r.Status == nil {
		return nil
	}
	switch *r.Status {
	case order.Unpaid:
		return &sums.Unpaid
	case order.Paid:
		return &sums.Paid
	case order.Redeemed:
		return &sums.Redeemed
	case order.Cancelled:
		if r.Expired {
			return &sums.Expired
		}
		return &sums.Cancelled
	case order.Refunding:
		return &sums.Refunding
	case order.Refunded:
		return &sums.Refunded
	case order.Failed:
		return &sums.Failed
	case order.Lapsed:
		return &sums.Lapsed
	default:
		return nil
	}
}

// Waitlist implements report.Ledger. It walks the list's places by their index, without locks.
func (s *Store) Waitlist(ctx context.Context, voucherID int64) (report.Waitlist, error) {
	var rows []struct {
		State             waitlist.State
		Offered, Accepted bool
		Places            int64
	}
	err := s.db.Read(ctx).Raw("SELECT state, CASE WHEN offer_time IS NULL THEN 0 ELSE 1 END AS offered, "+
		"CASE WHEN order_id IS NULL THEN 0 ELSE 1 END AS accepted, COUNT(*) AS places FROM tb_place WHERE voucher_id "+
		"= ? GROUP BY state, offered, accepted", voucherID).Find(&rows).Error
	if err != nil {
		return report.Waitlist{},
			sqlkit.ReadError(fmt.Sprintf("adding up the waiting list of voucher %d", voucherID), err)
	}
	var w report.Waitlist
	for _, row := range rows {
		w.Joined += row.Places
		if row.Accepted {
			w.Accepted += row.Places
		}
		switch {
		case row.State == waitlist.Waiting:
			w.Waiting += row.Places
		case !row.Offered: // it ended while it waited
			continue
		case row.State.Open():
			w.Open += row.Places
		case row.State == waitlist.Bought:
			w.Bought += row.Places
		default:
			w.Passed += row.Places
		}
	}
	w.Offered = w.Open + w.Bought + w.Passed
	return w, nil
}

// ExportRows implements report.Ledger.
func (s *Store) ExportRows(ctx context.Context, voucherID, after int64, limit int) ([]report.ExportRow, error) {
	var rows []struct {
		Order       orderRow         `gorm:"embedded"`
		Code        *redemption.Code `gorm:"column:code"`
		CouponUntil *time.Time       `gorm:"column:coupon_until"`
	}
	err := s.db.Read(ctx).Table("tb_voucher_order o").Select("o.*, c.code, c.valid_until AS coupon_until").
		Joins("LEFT JOIN tb_coupon c ON c.order_id = o.id").
		Where("o.voucher_id = ? AND o.id > ?", voucherID, after).Order("o.id").Limit(limit).Find(&rows).Error
	if err != nil {
		return nil, sqlkit.ReadError(fmt.Sprintf("reading orders of voucher %d to export", voucherID), err)
	}
	exported := make([]report.ExportRow, len(rows))
	for i, row := range rows {
		e := report.ExportRow{
			Order: row.Order.order(), Units: row.Order.order().Quantity.Units(), ValidUntil: sqlkit.At(row.CouponUntil),
		}
		e.Expired = e.Order.Status == order.Cancelled && !e.Order.PayBefore.IsZero() &&
			!e.Order.CancelledAt.Before(e.Order.PayBefore)
		if row.Code != nil {
			e.Code = *row.Code
		}
		exported[i] = e
	}
	return exported, nil
}

// salesTable is all sales but rehearsals with how many of their units are not paid for: a table for FROM, with the
// parameters of salesParams.
const salesTable = "(SELECT v.id, v.shop_id, v.title, v.pay_value, s.begin_time, s.end_time, s.issued, " +
	"s.issued - s.stock - s.offered AS sold, " +
	"s.issued - s.stock - s.offered - COALESCE(p.units, 0) AS paid, " +
	"CASE WHEN s.end_time <= @now THEN 'ended' WHEN s.begin_time > @now THEN 'coming' ELSE 'running' END AS phase " +
	"FROM tb_seckill_voucher s JOIN tb_voucher v ON v.id = s.voucher_id LEFT JOIN " +
	"(SELECT voucher_id, SUM(quantity) AS units FROM tb_voucher_order WHERE status IN (@unpaid, @refunding) " +
	"AND kind = @seckill GROUP BY voucher_id) p ON p.voucher_id = v.id WHERE v.shop_id <> @rehearsals) sales"

func (s *Store) salesParams(more map[string]any) map[string]any {
	params := map[string]any{
		"now": s.db.LedgerClock(), "unpaid": order.Unpaid, "refunding": order.Refunding, "seckill": voucher.Seckill,
		"rehearsals": voucher.RehearsalShop,
	}
	maps.Copy(params, more)
	return params
}

// SalesPage implements report.SalesLedger.
func (s *Store) SalesPage(ctx context.Context, phase report.Phase, before int64, limit int) ([]report.Sale, error) {
	var rows []struct {
		ID, ShopID, PayValue, Issued, Sold, Paid int64
		Title                                    string
		BeginTime, EndTime                       time.Time
		Phase                                    report.Phase
	}
	err := s.db.Read(ctx).Raw("SELECT * FROM "+salesTable+
		" WHERE id < @before AND (@phase = '' OR phase = @phase) ORDER BY id DESC LIMIT @limit",
		s.salesParams(map[string]any{"before": before, "phase": string(phase), "limit": limit})).Find(&rows).Error
	if err != nil {
		return nil, sqlkit.ReadError("reading all sales", err)
	}
	sales := make([]report.Sale, len(rows))
	for i, r := range rows {
		sales[i] = report.Sale{
			VoucherID: r.ID, ShopID: r.ShopID, Title: r.Title, Begin: r.BeginTime, End: r.EndTime, Phase: r.Phase,
			Sums: report.SalesSums{Sales: 1, Issued: r.Issued, Sold: r.Sold, Paid: r.Paid, Cents: r.Paid * r.PayValue},
		}
	}
	return sales, nil
}

// SalesSums implements report.SalesLedger.
func (s *Store) SalesSums(ctx context.Context) (map[report.Phase]report.SalesSums, error) {
	var rows []struct {
		Phase report.Phase
		Sums  report.SalesSums `gorm:"embedded"`
	}
	err := s.db.Read(ctx).Raw(
		"SELECT phase, COUNT(*) AS sales, SUM(issued) AS issued, SUM(sold) AS sold, SUM(paid) AS paid, "+
			"SUM(paid * pay_value) AS cents FROM "+salesTable+" GROUP BY phase", s.salesParams(nil)).Find(&rows).Error
	if err != nil {
		return nil, sqlkit.ReadError("adding up all sales", err)
	}
	sums := make(map[report.Phase]report.SalesSums, len(rows))
	for _, row := range rows {
		sums[row.Phase] = row.Sums
	}
	return sums, nil
}
