package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"sync/atomic"
	"text/tabwriter"
	"time"
)

// trial is a case on a stack that runs, or that it starts itself.
type trial struct {
	name  string
	units int // of the sale during which it runs; 0: it runs without one
	run   func(ctx context.Context, s *stack) error
}

// group is the cases that share a stack.
type group struct {
	name   string
	open   func(ctx context.Context, e *engine) (*stack, error)
	trials []trial
}

// tryTable runs the cases whose names match the pattern, and prints what became of them.
func (e *engine) tryTable(ctx context.Context, only string) error {
	pattern, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	var results []result
	users := &atomic.Int64{}
	users.Store(firstBuyer)
	for _, g := range []group{startGroup(), singleGroup(), clusterGroup()} {
		var chosen []trial
		for _, t := range g.trials {
			if pattern.MatchString(g.name + ": " + t.name) {
				chosen = append(chosen, t)
			}
		}
		if len(chosen) > 0 {
			results = append(results, e.tryGroup(ctx, g, chosen, users)...)
		}
		if ctx.Err() != nil {
			break
		}
	}
	e.print(results)
	var failed []error
	for _, r := range results {
		if r.err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", r.name, r.err))
		}
	}
	return errors.Join(append(failed, ctx.Err())...)
}

func (e *engine) tryGroup(ctx context.Context, g group, trials []trial, users *atomic.Int64) (results []result) {
	start := time.Now()
	s, err := g.open(ctx, e)
	results = append(results, result{name: g.name + ": up", took: time.Since(start), err: err})
	e.say("%s: up after %.0f s", g.name, time.Since(start).Seconds())
	for i := 0; err == nil && i < len(trials) && ctx.Err() == nil; i++ {
		t := trials[i]
		name := g.name + ": " + t.name
		start := time.Now()
		r := result{name: name}
		if t.units > 0 {
			r = sell(ctx, s.shop, users, name, t.units, func(ctx context.Context) error { return t.run(ctx, s) })
		} else {
			r.err = t.run(ctx, s)
		}
		r.took = time.Since(start)
		if r.err != nil {
			r.err = s.why(ctx, r.err)
		}
		e.say("%-60s %5.0f s  %v", name, r.took.Seconds(), verdict(r))
		results = append(results, r)
	}
	if err := e.sweep(context.WithoutCancel(ctx)); err != nil {
		results = append(results, result{name: g.name + ": removed", err: err})
	}
	return results
}

func verdict(r result) string {
	if r.err == nil {
		return "ok"
	}
	return "FAILED: " + r.err.Error()
}

// print writes the table of all cases.
func (e *engine) print(results []result) {
	w := tabwriter.NewWriter(e.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nCase\tUnits\tAccepted\tRecorded\tLost\tSeconds without a sale\tTook\t")
	for _, r := range results {
		took := fmt.Sprintf("%.0f s", r.took.Seconds())
		if r.err != nil {
			took += " FAILED"
		}
		if r.units == 0 {
			fmt.Fprintf(w, "%s\t\t\t\t\t\t%s\t\n", r.name, took)
			continue
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%.1f\t%s\t\n",
			r.name, r.units, r.accepted, r.recorded, r.lost, r.gap.Seconds(), took)
	}
	_ = w.Flush() // nobody is left to tell
}
