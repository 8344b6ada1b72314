package dispatch

import (
	"context"
	"log/slog"
	"time"

	"seckill/internal/kit/periodic"
)

const (
	salesEvery   = time.Second // how often sales that are due are looked for
	salesBatch   = 100         // sales at a time
	salesTimeout = 30 * time.Second
)

// SaleEvents writes the events of sales that come by the clock: the ledger. Every method may return
// order.ErrUnavailable.
type SaleEvents interface {
	// SalesDue returns up to n vouchers whose sales have started, sold out or ended without an event.
	SalesDue(ctx context.Context, n int) ([]int64, error)
	// WriteDue writes those events of a voucher's sale, each once.
	WriteDue(ctx context.Context, voucherID int64) error
}

// SaleClock has the events of sales written that nobody causes: each once, whichever instances run a SaleClock.
type SaleClock struct {
	events SaleEvents
	log    *slog.Logger
}

// NewSaleClock returns a clock; Run starts it.
func NewSaleClock(events SaleEvents, log *slog.Logger) *SaleClock { return &SaleClock{events, log} }

// Run writes until ctx ends. It tries again what has failed, so it returns no error.
func (c *SaleClock) Run(ctx context.Context) error {
	return periodic.Every(ctx, salesEvery, func(ctx context.Context) {
		if err := c.Look(ctx); err != nil && ctx.Err() == nil {
			c.log.WarnContext(ctx, "writing events of sales failed; retrying", "error", err)
		}
	})
}

// Look writes the events that are due now.
func (c *SaleClock) Look(ctx context.Context) error {
	call, cancel := context.WithTimeout(ctx, salesTimeout)
	defer cancel()
	ids, err := c.events.SalesDue(call, salesBatch)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := c.events.WriteDue(call, id); err != nil {
			return err
		}
	}
	return nil
}
