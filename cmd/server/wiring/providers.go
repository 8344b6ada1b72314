package wiring

import (
	"context"
	"log/slog"

	"seckill/internal/config"
)

// WarnOfProviders logs the payment providers whose refunds wait because they are set no more.
func WarnOfProviders(
	ctx context.Context, cfg config.Config, waiting func(context.Context) (map[string]int64, error), log *slog.Logger,
) {
	refunds, err := waiting(ctx)
	if err != nil {
		log.WarnContext(ctx, "whether refunds wait for a payment provider that is set no more is not known",
			"error", err)
		return
	}
	for _, name := range cfg.Payment.Unset(refunds) {
		log.WarnContext(ctx, "refunds wait for a payment provider that is set no more", "provider", name, "refunds",
			refunds[name])
	}
}
