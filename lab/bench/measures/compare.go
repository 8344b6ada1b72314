package measures

import (
	"context"
	"fmt"
	"slices"

	"seckill/lab/bench/candidate"
	"seckill/lab/bench/result"
)

// Compare compares the candidates. The rounds take longest and come last, because errors should show early.
func (b *Bench) Compare(ctx context.Context) (result.Run, error) {
	run := b.run(ctx)
	c := &result.Comparison{}
	run.Comparison = c
	trials, err := b.scaleIfWanted(ctx)
	if err != nil {
		return run, err
	}
	var before []result.Trial
	if b.before != nil {
		if before, err = b.before.scaleIfWanted(ctx); err != nil {
			return run, fmt.Errorf("%s: %w", b.plan.Before, err)
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
		now, old, err := b.compareRound(ctx, n)
		if err != nil {
			return run, err
		}
		trials, before = append(trials, now...), append(before, old...)
	}
	c.Candidates = result.Collect(trials)
	if b.before != nil {
		run.Before = &result.Before{
			Commit: b.plan.Before, Comparison: result.Comparison{Candidates: result.Collect(before)},
		}
	}
	return run, nil
}

func (b *Bench) scaleIfWanted(ctx context.Context) ([]result.Trial, error) {
	if !b.plan.takesPart(candidate.OneSale, candidate.ManySales, candidate.SmallSales, candidate.FullSale) {
		return nil, nil
	}
	trials, err := b.scale(ctx)
	if err != nil {
		return nil, fmt.Errorf("sales, stock and buyers: %w", err)
	}
	return trials, nil
}

// compareRound measures each candidate once. Candidates that involve the service are measured for the older service
// too, right before or right after, in turns by round; the others count for both.
func (b *Bench) compareRound(ctx context.Context, n int) (now, before []result.Trial, err error) {
	r := &round{Bench: b, number: n}
	old := &round{Bench: b.before, number: n}
	steps := b.steps()
	var again []step
	if b.before != nil {
		again = b.before.steps()
	}
	for i, s := range steps {
		if !b.plan.takesPart(s.candidate) {
			continue
		}
		if again == nil || !candidate.OfService(s.candidate) {
			t, err := r.logged(ctx, s)
			if err != nil {
				return nil, nil, err
			}
			old.trials = append(old.trials, t)
			continue
		}
		both := []func() error{
			func() error { _, err := r.logged(ctx, s); return err },
			func() error { return old.loggedIfAble(ctx, again[i]) },
		}
		if n%2 == 0 {
			slices.Reverse(both)
		}
		for _, measure := range both {
			if err := measure(); err != nil {
				return nil, nil, err
			}
		}
	}
	return r.trials, old.trials, nil
}

// loggedIfAble is logged for an older service, which may lack the feature to be measured: that stays empty in the
// report.
func (r *round) loggedIfAble(ctx context.Context, s step) error {
	_, err := r.logged(ctx, s)
	if err == nil || ctx.Err() != nil {
		return err
	}
	fmt.Fprintf(r.progress, "round %d/%d  %s%s is left out: %v\n", r.number, r.plan.Rounds, s.candidate, r.name, err)
	return nil
}

// logged measures one candidate, keeps the trial, and reports it as progress.
func (r *round) logged(ctx context.Context, s step) (result.Trial, error) {
	t, err := r.trial(ctx, s)
	if err != nil {
		return t, fmt.Errorf("%s, round %d: %w", s.candidate, r.number, err)
	}
	r.trials = append(r.trials, t)
	r.logTrial(t)
	return t, nil
}
