package webhook

import (
	"context"
	"time"

	"github.com/google/uuid"

	"seckill/internal/feature"
	"seckill/internal/feature/webhook/dispatch"
	"seckill/internal/feature/webhook/sender"
	"seckill/internal/sqlstore/sqlkit"
)

// lanes is how many events of different orders are sent to one endpoint at the same time. If each answer takes 20 ms,
// that is 800 events a second.
const lanes = 16

// New returns the feature.
func New() feature.Feature {
	return feature.Feature{
		Name: "webhook", Rules: Rules(), Open: open,
		Commands: []feature.Command{{
			Name: "webhook", Summary: "list, add, change and test webhook endpoints; list and replay their events",
			Run: command,
		}},
	}
}

// open connects webhooks to the ledger, whose transactions write the events of orders and waiting lists. Its jobs
// may be stopped at any moment: the result of an event that is being sent is stored, or another instance sends the
// event again.
func open(core feature.Core) (feature.Parts, error) {
	keep := core.Settings.Webhook.KeepAll
	ledger := NewLedger(core.DB, core.Orders)
	ledger.perShop, ledger.subscribed.all = core.Settings.Merchants.Webhooks, keep > 0
	out, m := newSender(core), newMetrics()
	deliverer := dispatch.NewDeliverer(ledger, out.Send,
		dispatch.DelivererOptions{Owner: uuid.NewString(), Lanes: lanes, Now: time.Now}, m, core.Log)
	return feature.Parts{
		Hooks: []sqlkit.Hook{ledger.Hook()},
		Routes: append(Routes(newAdmin(ledger, out), core.Front),
			StreamRoutes(dispatch.NewReader(ledger, core.Alone), core.Front.Members)...),
		Jobs: []func(context.Context) error{
			deliverer.Run,
			func(ctx context.Context) error { return ledger.Sequence(ctx, deliverer.Wake, core.Log) },
			func(ctx context.Context) error {
				return ledger.cleanOld(ctx, max(core.Settings.Webhook.Keep, keep), core.Log)
			},
			func(ctx context.Context) error { return ledger.countWaiting(ctx, m, core.Log) },
			func(ctx context.Context) error { return ledger.watchSales(ctx, core.Log) },
			func(ctx context.Context) error { return ledger.KeepAll(ctx, keep > 0, core.Alone, core.Log) },
		},
		Metrics: m.collectors(),
		Close:   []func(){out.Close},
	}, nil
}

func newAdmin(ledger *Ledger, out *sender.Sender) *dispatch.Admin {
	return &dispatch.Admin{Endpoints: ledger, Log: ledger, Send: out.Send, Never: out.Never, Now: time.Now}
}

func newSender(core feature.Core) *sender.Sender {
	return sender.New(sender.Options{
		Allowed: core.Settings.Webhook.Networks(), UserAgent: "seckill/" + core.Version,
	})
}
