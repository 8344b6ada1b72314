package wiring

import (
	"context"
	"log/slog"

	"seckill/internal/config"
)

// LogProviders logs the payment providers over HTTP, and warns of those that are set no more and whose refunds wait.
func LogProviders(
	ctx context.Context, cfg config.Config, waiting func(context.Context) (map[string]int64, error), log *slog.Logger,
) {
	for i, p := range cfg.Payment.Remote() {
		log.InfoContext(ctx, "payments are taken by a provider over HTTP", "provider", p.Name, "host", p.URL.Host,
			"callback", "/payment/callback/"+p.Name, "new", i == 0)
	}
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
