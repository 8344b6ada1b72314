package preflight

import (
	"context"
	"log/slog"
	"slices"
	"time"
)

const (
	setupsEvery = 5 * time.Second // how often sales that have begun are looked for
	// setupsTimeout is how long the ledger has for each call.
	setupsTimeout = 5 * time.Second
	// setupsWithin is how long after its begin the setup of a sale is still kept: later it may be another.
	setupsWithin = time.Hour
	// setupsPatience is how long a store that does not answer is waited for, before what the others say is kept without it.
	setupsPatience = time.Minute
	setupsBatch    = 500 // sales at a time
	// setupsAge is how long ago the sales began whose setups are removed with the next that is kept: the last one is there however long ago.
	setupsAge = 90 * 24 * time.Hour
)

// BegunSale is a sale that has begun.
type BegunSale struct {
	VoucherID int64
	Begin     time.Time // of its sale, or when it was created, if that was later
	Ago       time.Duration
}

// SetupLedger keeps setups.
type SetupLedger interface {
	// SalesWithoutSetup returns up to n sales that began within the given time and have no setup, those that began first first. A sale
	// that is paused or off the shelf has not begun, and rehearsals are no sales.
	SalesWithoutSetup(ctx context.Context, within time.Duration, n int) ([]BegunSale, error)
	// KeepSetup keeps the setup of the sales, but of those that have one by now, and returns of how many. It removes setups of sales that
	// began longer ago than age.
	KeepSetup(ctx context.Context, sales []BegunSale, setup Setup, age time.Duration) (kept int64, err error)
}

// Setups keeps the setup of each sale when it begins, for the list before the next one. Every instance runs one; the first to write is right,
// and the others change nothing. No sale waits for it.
type Setups struct {
	ledger SetupLedger
	read   func(ctx context.Context) (Setup, error)
	log    *slog.Logger
}

// NewSetups returns setups; read reads the setup as it is now, see [ReadSetup]. Run starts it.
func NewSetups(ledger SetupLedger, read func(ctx context.Context) (Setup, error), log *slog.Logger) *Setups {
	return &Setups{ledger: ledger, read: read, log: log}
}

// Run keeps setups until ctx ends. It never returns an error: what fails is tried again, by whichever instance is first.
func (s *Setups) Run(ctx context.Context) error {
	ticker := time.NewTicker(setupsEvery)
	defer ticker.Stop()
	failing := false
	for {
		more, err := s.round(ctx)
		if err != nil && !failing && ctx.Err() == nil {
			s.log.WarnContext(ctx, "keeping the setup of a sale that has begun failed; retrying", "error", err)
		}
		failing = err != nil
		if more {
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// round keeps the setup of sales that have begun, and reports whether there may be more. Without one, nearly always, it costs two queries.
func (s *Setups) round(ctx context.Context) (more bool, err error) {
	looking, cancel := context.WithTimeout(ctx, setupsTimeout)
	sales, err := s.ledger.SalesWithoutSetup(looking, setupsWithin, setupsBatch)
	cancel()
	if err != nil || len(sales) == 0 {
		return false, err
	}
	setup, unread := s.read(ctx)
	if unread != nil {
		if sales = slices.DeleteFunc(sales, func(b BegunSale) bool { return b.Ago < setupsPatience }); len(sales) == 0 {
			return false, unread
		}
		s.log.WarnContext(ctx, "the setup of a sale that has begun is kept without what could not be read", "voucher", sales[0].VoucherID, "error", unread)
	}
	writing, cancel := context.WithTimeout(ctx, setupsTimeout)
	defer cancel()
	kept, err := s.ledger.KeepSetup(writing, sales, setup, setupsAge)
	if kept > 0 {
		s.log.InfoContext(ctx, "kept the setup of sales that have begun", "voucher", sales[0].VoucherID, "sales", kept)
	}
	return kept > 0 && len(sales) == setupsBatch, err
}
