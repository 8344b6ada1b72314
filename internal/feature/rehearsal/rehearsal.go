package rehearsal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"seckill/internal/order"
	"seckill/internal/voucher"
	"seckill/internal/voucher/guards"
)

const (
	// Near is the time before a sale's start in which no rehearsal may start.
	Near = time.Hour
	// MaxLength is how long the sale of a rehearsal lasts if nobody ends it.
	MaxLength = 30 * time.Minute
	// startTimeout is how long starting a rehearsal may take.
	startTimeout = 15 * time.Second
	lockName     = "rehearsal"
	// endAhead is how far in the future End sets the end: a change to an end in the past is refused.
	endAhead = 5 * time.Second
)

// NearSaleError refuses a rehearsal because a sale runs, or begins within the hour.
type NearSaleError struct {
	VoucherID  int64
	Title      string
	Begin, End time.Time
	Runs       bool
}

func (e *NearSaleError) Error() string {
	at := func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }
	if e.Runs {
		return fmt.Sprintf("the sale of voucher %d (%s) runs until %s; a rehearsal would take its buyers' place",
			e.VoucherID, e.Title, at(e.End))
	}
	return fmt.Sprintf("the sale of voucher %d (%s) begins at %s, in less than %s",
		e.VoucherID, e.Title, at(e.Begin), Near)
}

// RunningError refuses a rehearsal because another one has not ended.
type RunningError struct {
	VoucherID int64
	End       time.Time
}

func (e *RunningError) Error() string {
	return fmt.Sprintf("a rehearsal, voucher %d, has not ended; it lasts until %s at most",
		e.VoucherID, e.End.UTC().Format("15:04:05 UTC"))
}

// Parts are the parts of the service that rehearsals need.
type Parts struct {
	// SalesToKeep returns the sales that Redis must hold, with their vouchers.
	SalesToKeep func(ctx context.Context) ([]voucher.Voucher, error)
	// TimeIn returns the time of the Redis node that has the partition, which decides when a sale begins (rule 12).
	TimeIn func(ctx context.Context, partition int) (time.Time, error)
	// Find returns a voucher as it is now, or voucher.ErrNotFound.
	Find func(ctx context.Context, id int64) (voucher.Voucher, error)
	// CreateBeside and ChangeVoucher are those of voucher.Service.
	CreateBeside func(
		ctx context.Context, by voucher.Author, v voucher.Voucher, other *voucher.Sale,
	) (voucher.Shown, error)
	ChangeVoucher func(
		ctx context.Context, by voucher.Author, id int64, change voucher.Change,
	) (v voucher.Shown, applied bool, err error)
	TryLock order.FencedLocker
	Runs    Runs
	// Memory returns how many bytes Redis uses, and its limit; 0: no limit.
	Memory func(ctx context.Context) (used, limit int64, err error)
	// Alone reports whether this process runs in the embedded mode, with its stores inside. That mode is for trying
	// out, and its demonstration sales run for a year, so sales that run or are near do not prevent a rehearsal there.
	Alone bool
}

// Rehearsals starts and ends rehearsals, and keeps their figures.
type Rehearsals struct{ parts Parts }

// NewRehearsals returns rehearsals; it starts nothing.
func NewRehearsals(parts Parts) *Rehearsals { return &Rehearsals{parts} }

// Start creates a rehearsal of a voucher's sale. It is on sale at once, until End or for MaxLength. Errors:
// *NearSaleError, *RunningError, order.ErrBusy while another is being started, voucher.ErrNotFound,
// voucher.ErrNotSeckill.
func (r *Rehearsals) Start(ctx context.Context, by voucher.Author, voucherID int64) (shown voucher.Shown, err error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	err = r.parts.TryLock(ctx, lockName, func(ctx context.Context, _ int64) error {
		sales, err := r.parts.SalesToKeep(ctx)
		if err != nil {
			return err
		}
		now, err := r.parts.TimeIn(ctx, partitionOf(voucherID, sales))
		if err != nil {
			return fmt.Errorf("the time where the sale is: %w", order.OrUnavailable(err))
		}
		if err := r.parts.refuse(sales, now); err != nil {
			return err
		}
		shown, err = r.create(ctx, by, voucherID, now)
		return err
	})
	return shown, err
}

// create creates a rehearsal that is on sale from now on.
func (r *Rehearsals) create(
	ctx context.Context, by voucher.Author, voucherID int64, now time.Time,
) (voucher.Shown, error) {
	v, err := r.parts.Find(ctx, voucherID)
	switch {
	case err != nil:
		return voucher.Shown{}, err
	case v.Sale == nil:
		return voucher.Shown{}, voucher.ErrNotSeckill
	}
	return r.parts.CreateBeside(ctx, by, shadowOf(v, now.Add(-time.Second), now.Add(MaxLength)), v.Sale)
}

// partitionOf returns the partition of the voucher's sale; 0 if the voucher has no sale. The partition's node must
// answer before a rehearsal starts.
func partitionOf(voucherID int64, sales []voucher.Voucher) int {
	for _, v := range sales {
		if v.ID == voucherID {
			return v.Sale.Partition
		}
	}
	return 0
}

// refuse returns an error if no rehearsal may start at the time now.
func (p *Parts) refuse(sales []voucher.Voucher, now time.Time) error {
	for _, v := range sales {
		switch {
		case !now.Before(v.Sale.End):
		case v.Rehearsal():
			return &RunningError{VoucherID: v.ID, End: v.Sale.End}
		case v.Status == voucher.OnShelf && !p.Alone && now.After(v.Sale.Begin.Add(-Near)):
			return &NearSaleError{
				VoucherID: v.ID, Title: v.Title, Begin: v.Sale.Begin, End: v.Sale.End, Runs: !now.Before(v.Sale.Begin),
			}
		}
	}
	return nil
}

// End ends a rehearsal now, so that its sale is emptied soon, and returns it. It changes nothing if the rehearsal has
// ended or is about to: it never moves the end to a later time. Error: ErrNone.
func (r *Rehearsals) End(ctx context.Context, by voucher.Author, voucherID int64) (Run, error) {
	run, err := r.parts.Runs.Change(ctx, voucherID, func(now time.Time, run *Run) error {
		run.End = earlier(run.End, now.Add(endAhead))
		return nil
	})
	if err != nil {
		return run, err
	}
	return run, r.endSale(ctx, by, voucherID)
}

// endSale ends the sale of a rehearsal. It does nothing to other sales.
func (r *Rehearsals) endSale(ctx context.Context, by voucher.Author, voucherID int64) error {
	sales, err := r.parts.SalesToKeep(ctx)
	if err != nil {
		return err
	}
	end := time.Now().Add(endAhead)
	if !slices.ContainsFunc(sales,
		func(v voucher.Voucher) bool { return v.ID == voucherID && v.Rehearsal() && v.Sale.End.After(end) }) {
		return nil
	}
	_, _, err = r.parts.ChangeVoucher(ctx, by, voucherID, voucher.Change{End: &end})
	if errors.Is(err, voucher.ErrRetired) || errors.Is(err, voucher.ErrNotFound) {
		return nil
	}
	return err
}

// payWithin is the time to pay in a rehearsal: longer than it and the removal of its orders take, so none expires.
const payWithin = 24 * time.Hour

// shadowOf returns the voucher of a rehearsal of v's sale, which runs from begin to end. It has the stock, the units
// per user and the guards of the sale, and costs something if v does. It has no texts, no codes and no waiting list.
// Guards are in dry run, because they exist to stop a crowd from one machine.
func shadowOf(v voucher.Voucher, begin, end time.Time) voucher.Voucher {
	return voucher.Voucher{
		ShopID: voucher.RehearsalShop, Title: "Rehearsal", PayValue: min(v.PayValue, 1), ActualValue: 1,
		PayWithin: payWithin, PerUser: v.PerUser, Kind: voucher.Seckill, Status: voucher.OnShelf, Rehearses: v.ID,
		Sale: &voucher.Sale{
			Stock: v.Sale.Issued, Issued: v.Sale.Issued, Begin: begin, End: end, Guards: dryRun(v.Sale.Guards),
		},
	}
}

// dryRun returns the settings with a dry run of every guard that is on, and without a delay, so that the window may end
// at any time. It returns nil for nil and for settings that cannot be read.
func dryRun(s *guards.Settings) *guards.Settings {
	if s == nil || s.Unreadable {
		return nil
	}
	dry := *s.Undrawn()
	setDry(&dry.Limits, func(l *guards.Limits) *bool { return &l.DryRun })
	setDry(&dry.Conditions, func(c *guards.Conditions) *bool { return &c.DryRun })
	setDry(&dry.Tickets, func(t *guards.Tickets) *bool { t.DelayMs = 0; return &t.DryRun })
	setDry(&dry.Challenge, func(c *guards.Challenge) *bool { return &c.DryRun })
	setDry(&dry.CoolDown, func(c *guards.CoolDown) *bool { return &c.DryRun })
	setDry(&dry.Units, func(u *guards.Units) *bool { return &u.DryRun })
	return &dry
}

// setDry replaces one guard, if it is on, by a copy in dry run: settings are shared, and never changed.
func setDry[T any](g **T, flag func(*T) *bool) {
	if *g == nil {
		return
	}
	dry := **g
	*flag(&dry) = true
	*g = &dry
}
