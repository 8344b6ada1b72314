package measures

import (
	"context"
	"fmt"

	"seckill/bench/candidate"
	"seckill/bench/result"
)

// Compare compares the candidates: the rounds, which take longest, come last, because errors should show early.
func (b *Bench) Compare(ctx context.Context) (result.Run, error) {
	run := b.run(ctx)
	c := &result.Comparison{}
	run.Comparison = c
	var trials []result.Trial
	var err error
	if b.plan.takesPart(candidate.OneSale, candidate.ManySales, candidate.SmallSales, candidate.FullSale) {
		if trials, err = b.scale(ctx); err != nil {
			return run, fmt.Errorf("sales, stock and buyers: %w", err)
		}
	}
	if b.plan.Only == nil {
		if c.Contention, err = b.contention(ctx); err != nil {
			return run, err
		}
		if c.Crashes, err = b.crashes(ctx); err != nil {
			return run, err
		}
	}
	for n := 1; n <= b.plan.Rounds; n++ {
		r := round{Bench: b, number: n}
		for _, s := range b.steps() {
			if !b.plan.takesPart(s.candidate) {
				continue
			}
			t, err := r.trial(ctx, s)
			if err != nil {
				return run, fmt.Errorf("%s, round %d: %w", s.candidate, n, err)
			}
			b.logTrial(t)
			r.trials = append(r.trials, t)
		}
		trials = append(trials, r.trials...)
	}
	c.Candidates = result.Collect(trials)
	return run, nil
}
