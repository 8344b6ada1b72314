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
		Name: "webhook", Rules: Rules(), Ledger: inLedger,
		Commands: []feature.Command{{
			Name: "webhook", Summary: "list, add, change and test webhook endpoints; list and replay their events",
			Run: command,
		}},
	}
}

// inLedger adds the hook that writes events in the transactions that change orders and waiting lists.
func inLedger(db *sqlkit.DB, orders sqlkit.Orders) feature.InLedger {
	ledger := NewLedger(db, orders)
	return feature.InLedger{
		Hook: ledger.Hook(),
		Open: func(core feature.Core) (feature.Parts, error) { return open(core, ledger), nil },
	}
}

// open connects webhooks to the ledger. Its jobs may be stopped at any moment: the result of an event that is being
// sent is stored, or another instance sends the event again.
func open(core feature.Core, ledger *Ledger) feature.Parts {
	out, m := newSender(core), newMetrics()
	deliverer := dispatch.NewDeliverer(ledger, out.Send,
		dispatch.DelivererOptions{Owner: uuid.NewString(), Lanes: lanes, Now: time.Now}, m, core.Log)
	admin := dispatch.NewAdmin(
		ledger.Bound(core.Settings.Merchants.Webhooks), ledger, out.Send, out.Never, time.Now)
	return feature.Parts{
		Routes: Routes(admin, core.Front),
		Jobs: []func(context.Context) error{
			dispatch.NewSequencer(ledger, deliverer.Wake, core.Log).Run, deliverer.Run,
			dispatch.NewCleaner(ledger, core.Settings.Webhook.Keep, m, core.Log).Run,
		},
		Metrics: m.collectors(),
		Close:   []func(){out.Close},
	}
}

func newSender(core feature.Core) *sender.Sender {
	return sender.New(sender.Options{
		Allowed: core.Settings.Webhook.Networks(), UserAgent: "seckill/" + core.Version,
	})
}
