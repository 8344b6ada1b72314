package report

import (
	"context"
	"fmt"
	"time"

	"seckill/internal/order"
	"seckill/internal/order/redemption"
	"seckill/internal/order/timeline"
)

// ExportRow is an order as it is exported.
type ExportRow struct {
	Order      order.Order
	Units      int64
	Expired    bool            // cancelled at its payment deadline or later
	Code       redemption.Code // "" without one
	ValidUntil time.Time       // of its coupon; zero for ever
}

// exportRows is how many orders one query of an export reads.
const exportRows = 1000

// exportTimeout is how long one query of an export may take.
const exportTimeout = 10 * time.Second

// Orders calls yield with all recorded orders of a voucher in the order of their ids, a page at a time, until it
// fails. Memory is that of a page. voucher.ErrNotFound before the first page, order.ErrUnavailable.
func (r *Reports) Orders(ctx context.Context, voucherID int64, yield func([]ExportRow) error) error {
	for after := int64(0); ; {
		page, err := r.page(ctx, voucherID, after)
		if err != nil {
			return order.OrUnavailable(fmt.Errorf("exporting the orders of voucher %d: %w", voucherID, err))
		}
		if err := yield(page); err != nil {
			return err
		}
		if len(page) < exportRows {
			return nil
		}
		after = page[len(page)-1].Order.ID
	}
}

func (r *Reports) page(ctx context.Context, voucherID, after int64) ([]ExportRow, error) {
	ctx, cancel := context.WithTimeout(ctx, exportTimeout)
	defer cancel()
	if after == 0 {
		if _, err := r.ledger.Voucher(ctx, voucherID); err != nil {
			return nil, err
		}
	}
	return r.ledger.ExportRows(ctx, voucherID, after, exportRows)
}

// Seconds calls yield with how the requests for a sale were answered, each second in which there were any, in order,
// a minute at a time, until it fails. voucher.ErrNotFound, order.ErrUnavailable.
func (r *Reports) Seconds(ctx context.Context, voucherID int64, yield func([]Point) error) error {
	if _, err := r.ledger.Voucher(ctx, voucherID); err != nil {
		return order.OrUnavailable(fmt.Errorf("the timeline of voucher %d: %w", voucherID, err))
	}
	var (
		start  time.Time
		counts [60]order.Counts
	)
	flush := func() error {
		var points []Point
		for second, c := range counts {
			if len(c) > 0 {
				points = append(points, Point{start.Add(time.Duration(second) * time.Second), c})
			}
		}
		counts = [60]order.Counts{}
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
				if counts[second] == nil {
					counts[second] = order.Counts{}
				}
				counts[second][answer] += n
			}
		}
		return nil
	})
	if err == nil {
		err = flush()
	}
	return order.OrUnavailable(err)
}
