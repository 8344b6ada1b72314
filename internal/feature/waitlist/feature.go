package waitlist

import (
	"context"

	"seckill/internal/feature"
	"seckill/internal/sqlstore/sqlkit"
)

// New returns the feature.
func New() feature.Feature {
	return feature.Feature{Name: "waitlist", Rules: Rules(), Open: open}
}

// open connects the lists to the core. The hook counts promised units, and wakes the job after commits that keep units.
// The job may be stopped at any moment: the next run finds what is due.
func open(core feature.Core) (feature.Parts, error) {
	ledger, metrics := NewLedger(core.DB, core.Units), NewMetrics()
	turns := NewTurns(ledger.Turn, core.IDs, core.Outbox, metrics)
	job := NewJob(turns, ledger.Due, core.Log)
	lists := NewWaitlists(Stores{
		Ledger: ledger, Views: core.Redis.Views, Held: core.Redis.OrdersOf, LiveOrder: core.Ledger.LiveOrder,
		IDs: core.IDs, Outbox: core.Outbox, Turns: turns, Wake: job.Wake,
	}, metrics)
	return feature.Parts{
		Hooks:  []sqlkit.Hook{{Kept: job.Wake, Promised: Promised}},
		Routes: Routes(lists, core.Sales.Find, core.Front),
		Jobs:   []func(context.Context) error{job.Run}, Metrics: metrics.Collectors(),
		Members: feature.Members{"waitlist": {Sale: ledger.Figures}}, Close: []func(){lists.Close},
	}, nil
}
