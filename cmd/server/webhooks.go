package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"seckill/internal/kit/config"
	"seckill/internal/kit/telemetry"
	"seckill/internal/webhook"
	"seckill/internal/webhook/sender"
)

// webhookLanes is how many events of different orders are on their way to one endpoint at once. At 20 ms an answer
// that is 800 a second.
const webhookLanes = 16

// webhooks is everything about webhooks, wired to the ledger.
type webhooks struct {
	admin     *webhook.Admin
	sender    *sender.Sender
	sequencer *webhook.Sequencer
	deliverer *webhook.Deliverer
	cleaner   *webhook.Cleaner
}

func openWebhooks(cfg config.Config, s *stores, metrics *telemetry.Metrics, log *slog.Logger) *webhooks {
	out := sender.New(sender.Options{Allowed: cfg.Webhook.Networks(), UserAgent: "seckill/" + build().Version})
	deliverer := webhook.NewDeliverer(s.ledger, out,
		webhook.DelivererOptions{Owner: uuid.NewString(), Lanes: webhookLanes, Now: time.Now}, metrics, log)
	return &webhooks{
		admin:     webhook.NewAdmin(s.ledger, s.ledger, out, time.Now),
		sender:    out,
		sequencer: webhook.NewSequencer(s.ledger, deliverer.Wake, log),
		deliverer: deliverer,
		cleaner:   webhook.NewCleaner(s.ledger, cfg.Webhook.Keep, metrics, log),
	}
}

// jobs are those that may be stopped at any moment: what is on its way is settled, or sent again by another instance.
func (w *webhooks) jobs() []func(context.Context) error {
	return []func(context.Context) error{w.sequencer.Run, w.deliverer.Run, w.cleaner.Run}
}
