package retention

import (
	"context"
	"time"

	"seckill/internal/feature"
)

// New returns the feature.
func New() feature.Feature {
	return feature.Feature{
		Name: "retention", Open: open, Rules: Rules(),
		Lock: purgerJob + ", which deletes what is older than SECKILL_KEEP",
		Commands: []feature.Command{
			{Name: "purge", Summary: "delete the orders of sales that ended before a date", Run: purge},
			{Name: "user", Summary: "export what is stored about a person, or forget them", Run: user},
		},
	}
}

func open(core feature.Core) (feature.Parts, error) {
	ledger, keep := NewLedger(core.DB, core.Orders), core.Settings.Keep
	parts := feature.Parts{Routes: Routes(serviceOf(ledger, core), core.Front.Bodies)}
	if keep.Orders == 0 && keep.Audit == 0 {
		return parts, nil
	}
	p := &purger{
		Purger: Purger{Ledger: ledger, Waitlist: waitlistOf(core), Answers: ledger.answers},
		keep:   keep.Orders, turn: purgeTurn, trail: keep.Audit, midnight: core.DB.Midnight, log: core.Log,
		now: func(ctx context.Context) time.Time {
			now, _ := core.DB.LedgerTime(core.DB.Read(ctx)) // then it is the zero time
			return now
		},
		switchOn: func(ctx context.Context) error { return switchOn(ctx, ledger, core) },
		forget:   ledger.ForgetEntries,
	}
	parts.Jobs = []func(context.Context) error{
		func(ctx context.Context) error { return p.Run(ctx, core.TryLock) },
	}
	return parts, nil
}
