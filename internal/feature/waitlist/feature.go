package waitlist

import (
	"context"

	"seckill/internal/feature"
	"seckill/internal/sqlstore/sqlkit"
)

// New returns the feature.
func New() feature.Feature {
	return feature.Feature{Name: "waitlist", Rules: Rules(), Ledger: inLedger}
}

// inLedger returns the hook: it counts promised units, and wakes the job after commits that keep units.
func inLedger(*sqlkit.DB, sqlkit.Orders) feature.InLedger {
	waker := new(waker)
	return feature.InLedger{
		Hook: sqlkit.Hook{Kept: waker.wake, Promised: Promised},
		Open: func(core feature.Core) (feature.Parts, error) { return open(core, waker), nil },
	}
}

// waker wakes the job. It does nothing in commands; a server sets the job before the first request.
type waker struct{ job *Job }

func (w *waker) wake(voucherID int64) {
	if w.job != nil {
		w.job.Wake(voucherID)
	}
}

// open connects the lists to the core. The job may be stopped at any moment: the next run finds what is due.
func open(core feature.Core, waker *waker) feature.Parts {
	ledger, metrics := NewLedger(core.DB, core.Units), NewMetrics()
	turns := NewTurns(ledger, core.IDs, core.Outbox, metrics)
	job := NewJob(turns, ledger, core.Log)
	waker.job = job
	lists := NewWaitlists(Stores{
		Ledger: ledger, Sales: core.Redis, Rows: core.Ledger, IDs: core.IDs, Outbox: core.Outbox,
		Turns: turns, Wake: job.Wake,
	}, metrics)
	return feature.Parts{
		Routes: Routes(lists, Doors{Find: core.Sales.Find, Gate: core.Gate, Now: core.Front.Now}),
		Jobs:   []func(context.Context) error{job.Run}, Metrics: metrics.Collectors(),
		Members: feature.Members{Waitlist: ledger.Figures}, Close: []func(){lists.Close},
	}
}
