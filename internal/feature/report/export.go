package report

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	"seckill/internal/order"
	"seckill/internal/order/figures"
	"seckill/internal/order/payment"
	"seckill/internal/order/timeline"
	"seckill/internal/voucher"
)

// ExportRow is one order of an export.
type ExportRow struct {
	Order  order.Order
	Coupon map[string]string // its cells by name
}

// Expired reports whether the order was cancelled because it was not paid in time.
func (r ExportRow) Expired() bool { return figures.Expired(r.Order) }

// exportPage is how many orders an export reads at once.
const exportPage = 1000

// exportTimeout bounds the reading of one page.
const exportTimeout = 10 * time.Second

// pages calls yield with page after page, until there are no more or yield fails. read returns the page behind the last
// row of the page before. Each row is as it was when its page was read. Only one page is in memory.
func pages[T any](
	ctx context.Context, what string, read func(ctx context.Context, last T) ([]T, error), yield func([]T) error,
) error {
	for last := *new(T); ; {
		reading, cancel := context.WithTimeout(ctx, exportTimeout)
		page, err := read(reading, last)
		cancel()
		if err != nil {
			return order.OrUnavailable(fmt.Errorf("exporting %s: %w", what, err))
		}
		if err := yield(page); err != nil {
			return err
		}
		if len(page) < exportPage {
			return nil
		}
		last = page[len(page)-1]
	}
}

// Orders implements Exports.
func (r *Reports) Orders(ctx context.Context, voucherID int64, whole bool, yield func([]ExportRow) error) error {
	return pages(ctx, fmt.Sprintf("the orders of voucher %d", voucherID),
		func(ctx context.Context, last ExportRow) ([]ExportRow, error) {
			return r.orders(ctx, voucherID, last.Order.ID, whole)
		}, yield)
}

// Payments implements Exports.
func (r *Reports) Payments(ctx context.Context, f payment.Filter, yield func([]payment.Payment) error) error {
	return pages(ctx, "payments", func(ctx context.Context, last payment.Payment) ([]payment.Payment, error) {
		return r.core.Payments(ctx, f, last, exportPage)
	}, yield)
}

// AuditRow is one entry of the audit trail, with its author's account; the zero Account if they have none.
type AuditRow struct {
	Entry  voucher.Entry
	Author voucher.Account
}

// Audit implements Exports.
func (r *Reports) Audit(ctx context.Context, f voucher.AuditFilter, yield func([]AuditRow) error) error {
	return pages(ctx, "the audit trail", func(ctx context.Context, last AuditRow) ([]AuditRow, error) {
		return r.entries(ctx, f, cmp.Or(last.Entry.ID, math.MaxInt64))
	}, yield)
}

func (r *Reports) entries(ctx context.Context, f voucher.AuditFilter, before int64) ([]AuditRow, error) {
	entries, err := r.core.Entries(ctx, f, before, exportPage)
	if err != nil {
		return nil, err
	}
	accounts, err := r.members.Authors(ctx, entries)
	if err != nil {
		return nil, err
	}
	rows := make([]AuditRow, len(entries))
	for i, e := range entries {
		rows[i] = AuditRow{e, accounts[e.By.AdminID]}
	}
	return rows, nil
}

func (r *Reports) orders(ctx context.Context, voucherID, after int64, whole bool) ([]ExportRow, error) {
	if after == 0 {
		if _, err := r.core.Find(ctx, voucherID); err != nil {
			return nil, err
		}
	}
	orders, err := r.core.Orders(ctx, voucherID, after, exportPage)
	if err != nil {
		return nil, err
	}
	var paid []int64 // an order that was read unpaid shows no code, even if it got one since
	for _, o := range orders {
		if o.Status != order.Unpaid {
			paid = append(paid, o.ID)
		}
	}
	coupons, err := r.coupons(ctx, paid, whole)
	if err != nil {
		return nil, err
	}
	rows := make([]ExportRow, len(orders))
	for i, o := range orders {
		rows[i] = ExportRow{o, coupons[o.ID]}
	}
	return rows, nil
}

// Seconds implements Exports. It yields a minute at a time.
func (r *Reports) Seconds(ctx context.Context, voucherID int64, yield func([]Point) error) error {
	if _, err := r.core.Find(ctx, voucherID); err != nil {
		return order.OrUnavailable(fmt.Errorf("the timeline of voucher %d: %w", voucherID, err))
	}
	var start time.Time
	each := steps{step: time.Second}
	flush := func() error {
		points := each.points
		if each.points = nil; len(points) == 0 {
			return nil
		}
		return yield(points)
	}
	end := time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)
	err := r.minutes(ctx, voucherID, time.Unix(0, 0), end, func(m timeline.Minute) error {
		if !m.Start.Equal(start) {
			if err := flush(); err != nil {
				return err
			}
			start = m.Start
		}
		each.add(m)
		return nil
	})
	if err == nil {
		err = flush()
	}
	return order.OrUnavailable(err)
}
