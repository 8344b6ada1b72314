package report

import (
	"context"
	"fmt"
	"time"

	"seckill/internal/feature"
	"seckill/internal/order"
	"seckill/internal/order/timeline"
)

// ExportRow is one order of an export.
type ExportRow struct {
	Order  order.Order
	Coupon feature.Coupon
}

// Expired reports whether the order was cancelled at its payment deadline or later. Then it ended by not being paid in
// time, even if its owner cancelled it before the expirer came.
func (r ExportRow) Expired() bool {
	o := r.Order
	return o.Status == order.Cancelled && !o.PayBefore.IsZero() && !o.CancelledAt.Before(o.PayBefore)
}

// exportPage is how many orders an export reads at once.
const exportPage = 1000

// exportTimeout bounds the reading of one page.
const exportTimeout = 10 * time.Second

// Orders calls yield with all recorded orders of a voucher, by id, a page at a time, until yield fails. Codes are
// masked or whole. Memory is that of a page. voucher.ErrNotFound before the first page, order.ErrUnavailable.
func (r *Reports) Orders(ctx context.Context, voucherID int64, whole bool, yield func([]ExportRow) error) error {
	for after := int64(0); ; {
		page, err := r.page(ctx, voucherID, after, whole)
		if err != nil {
			return order.OrUnavailable(fmt.Errorf("exporting the orders of voucher %d: %w", voucherID, err))
		}
		if err := yield(page); err != nil {
			return err
		}
		if len(page) < exportPage {
			return nil
		}
		after = page[len(page)-1].Order.ID
	}
}

// Payments calls yield with all payments that the filter selects, the oldest first, a page at a time, until yield
// fails. Each is as it was when its page was read. Memory is that of a page. Error: order.ErrUnavailable.
func (r *Reports) Payments(ctx context.Context, f order.PaymentFilter, yield func([]order.Payment) error) error {
	for last := (order.Payment{}); ; {
		reading, cancel := context.WithTimeout(ctx, exportTimeout)
		page, err := r.core.Payments(reading, f, last, exportPage)
		cancel()
		if err != nil {
			return order.OrUnavailable(fmt.Errorf("exporting payments: %w", err))
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

func (r *Reports) page(ctx context.Context, voucherID, after int64, whole bool) ([]ExportRow, error) {
	ctx, cancel := context.WithTimeout(ctx, exportTimeout)
	defer cancel()
	if after == 0 {
		if _, err := r.core.Find(ctx, voucherID); err != nil {
			return nil, err
		}
	}
	orders, err := r.core.Orders(ctx, voucherID, after, exportPage)
	if err != nil {
		return nil, err
	}
	var paid []int64 // one that was unpaid when it was read shows no code that it got since
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

// Seconds calls yield with how the requests for a sale were answered, for each second with answers, in order, a minute
// at a time, until yield fails. Errors: voucher.ErrNotFound, order.ErrUnavailable.
func (r *Reports) Seconds(ctx context.Context, voucherID int64, yield func([]Point) error) error {
	if _, err := r.core.Find(ctx, voucherID); err != nil {
		return order.OrUnavailable(fmt.Errorf("the timeline of voucher %d: %w", voucherID, err))
	}
	var (
		start time.Time
		each  [60]Point
	)
	flush := func() error {
		var points []Point
		for second := range each {
			p := each[second]
			if len(p.Counts) > 0 || len(p.Took) > 0 {
				p.At = start.Add(time.Duration(second) * time.Second)
				points = append(points, p)
			}
		}
		each = [60]Point{}
		if len(points) == 0 {
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
		for answer, seconds := range m.Counts {
			for second, n := range seconds {
				if n == 0 {
					continue
				}
				if each[second].Counts == nil {
					each[second].Counts = order.Counts{}
				}
				each[second].Counts[answer] += n
			}
		}
		for second, took := range m.Took {
			each[second].Took = each[second].Took.Plus(took)
		}
		return nil
	})
	if err == nil {
		err = flush()
	}
	return order.OrUnavailable(err)
}
