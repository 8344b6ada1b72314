package order

import (
	"context"
	"iter"
	"time"
)

// TestimonyReader reads what instances hand in about a stopped sale.
type TestimonyReader interface {
	// Heard says how far the hearing has got. ErrSuperseded as for SaleBuilder.
	Heard(ctx context.Context, sale SaleRef, epoch int64) (HearingState, error)
	// Testified yields the claims that were handed in since the sale stopped. One may come twice.
	Testified(ctx context.Context, sale SaleRef) iter.Seq2[Claim, error]
}

// HearingState is how far the hearing of a stopped sale has got.
type HearingState struct {
	Since  time.Duration // how long the sale has stood still, by Redis's clock
	Seen   Mark          // the highest mark that instances have handed in
	Absent []string      // witnesses that live and have not said all yet
}

const (
	// hearingTime is how long a hearing takes at least: a witness that lives says so several times meanwhile, also to a
	// Redis that was emptied. At its end nobody remembers the sale as sold out any more (rule 11).
	hearingTime = ReturnDelay
	// longestHearing is how long a rebuild waits for those who live and do not come. Those look for themselves then whether
	// it missed anything (Witness).
	longestHearing = 5 * time.Second
	hearingPause   = 50 * time.Millisecond // between two looks
	listedOrders   = 20                    // orders named in one line of the log
)

// hear waits until every instance that lives has said what it remembers of the stopped sale, and returns the highest mark
// that they have seen.
func (k *Keeper) hear(ctx context.Context, sale SaleRef, epoch int64) (Mark, error) {
	if k.testimony == nil {
		return Mark{}, nil
	}
	began := time.Now() // Redis's clock may be set back
	for {
		state, err := k.testimony.Heard(ctx, sale, epoch)
		if err != nil {
			return Mark{}, err
		}
		waited := max(state.Since, time.Since(began))
		switch {
		case waited >= hearingTime && len(state.Absent) == 0:
			return state.Seen, nil
		case waited >= longestHearing:
			k.log.WarnContext(ctx, "a sale is rebuilt without what some living instances remember",
				"voucher", sale.VoucherID, "epoch", epoch, "instances", state.Absent)
			return state.Seen, nil
		}
		rest(ctx, hearingPause)
		if err := ctx.Err(); err != nil {
			return Mark{}, err
		}
	}
}

// account says what Redis had lost of a sale that was rebuilt: which orders the instances knew of, and how many
// admissions nobody can name.
func (k *Keeper) account(ctx context.Context, sale SaleRef, r *reconstruction, plan blueprint) {
	unaccounted := r.unaccounted()
	k.observer.Recovered(len(plan.requeue), unaccounted)
	if n := len(plan.lost); n > 0 {
		ids := make([]int64, min(n, listedOrders))
		for i := range ids {
			ids[i] = plan.lost[i].OrderID
		}
		k.log.WarnContext(ctx, "Redis had lost accepted orders that instances remember; they are queued again",
			"voucher", sale.VoucherID, "count", n, "orders", ids)
	}
	if unaccounted > 0 {
		k.log.ErrorContext(ctx, "Redis has lost accepted orders that nobody remembers",
			"voucher", sale.VoucherID, "count", unaccounted, "seen", r.seen, "reached", r.reached)
	}
}
