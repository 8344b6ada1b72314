package rehearsal

import (
	"context"
	"log/slog"

	"seckill/internal/feature"
	"seckill/internal/order"
)

// New returns the feature.
func New(
	rehearsals *Rehearsals, core HTTP, sales Remover, locker order.FencedLocker, log *slog.Logger,
) feature.Feature {
	return feature.Feature{
		Routes: Routes(rehearsals, core), Rules: Rules(),
		Jobs: []func(context.Context) error{NewEmptier(sales, locker, log).Run},
	}
}
