package measures

import (
	"context"
	"fmt"
	"time"

	"seckill/lab/bench/result"
)

// limitsWarmUp is longer than a comparison's: thousands of connections take a while to open.
const limitsWarmUp = 2 * time.Second

// FindLimits measures curves and the stampede in rounds, then the long sale, waiting and expiry, once each.
func (b *Bench) FindLimits(ctx context.Context) (result.Run, error) {
	patient := *b
	b = &patient
	b.plan.WarmUp = min(limitsWarmUp, 4*b.plan.WarmUp)
	run := b.run(ctx)
	l := &result.Limits{}
	run.Limits = l
	for _, axis := range []struct {
		to      *[]result.Series
		measure func(context.Context, *curve) error
	}{
		{&l.Connections, b.byConnections}, {&l.Sales, b.bySales}, {&l.Stock, b.byStock},
	} {
		points := curve{Bench: b}
		for points.round = 1; points.round <= b.plan.Rounds; points.round++ {
			if err := axis.measure(ctx, &points); err != nil {
				return run, err
			}
		}
		*axis.to = result.Collect(points.trials)
	}
	var err error
	if l.Stampedes, err = b.stampedes(ctx); err != nil {
		return run, fmt.Errorf("stampede: %w", err)
	}
	l.Stampede = l.Stampedes[0]
	if l.Sale, err = b.LongSale(ctx); err != nil {
		return run, err
	}
	if l.Waiting, err = b.waiting(ctx); err != nil {
		return run, fmt.Errorf("waiting for rows: %w", err)
	}
	fmt.Fprintf(b.progress, "%d buyers waited for their rows, the last for %.0f ms\n",
		l.Waiting.Buyers, l.Waiting.LastAnswer)
	if l.Expiry, err = b.expiry(ctx); err != nil {
		return run, fmt.Errorf("expiry of a backlog: %w", err)
	}
	for _, r := range l.Expiry.Rates {
		fmt.Fprintf(b.progress, "expiry of at most %d/s: %.0f/s, purchases p99 %.2f ms\n",
			r.Setting, r.Rate, r.Sale.P99)
	}
	return run, nil
}
