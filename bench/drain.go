package main

import (
	"context"
	"fmt"
	"time"
)

// leastBacklog is how many orders must wait for the speed of their recording to be worth a figure.
const leastBacklog = 2000

// settles is the patience with a contestant that has to record everything: one that is slower is given up with an error.
const settles = time.Hour

// watchDrain follows the recording after the last acceptance. Where it would take longer than patience it is not waited
// for: the speed over a second (less, where turns are short) tells how long it would be.
func (t *turn) watchDrain(ctx context.Context, at *place, b burst, held bool, sample, patience time.Duration) error {
	sample = min(time.Second, sample)
	first, err := at.recorded(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	t.Backlog = b.answered - first
	if !held {
		t.Meanwhile = float64(first) / began.Sub(b.began).Seconds()
	}
	for {
		now, err := at.recorded(ctx)
		if err != nil {
			return err
		}
		passed := time.Since(began)
		speed := float64(now-first) / passed.Seconds()
		if t.Backlog >= leastBacklog {
			t.Draining = speed
		}
		switch {
		case now > b.answered:
			return fmt.Errorf("%d orders recorded, %d accepted", now, b.answered)
		case now == b.answered:
			t.Drain = time.Since(b.ended).Seconds()
			return nil
		case passed > sample && speed > 0 && float64(b.answered-now)/speed > patience.Seconds():
			t.Drain, t.Extrapolated = float64(t.Backlog)/speed, true
			return nil
		case passed > time.Minute:
			return fmt.Errorf("%d of %d orders recorded a minute after the last was accepted", now, b.answered)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// drainOf scales the drain to a backlog of so many orders; 0 when there was none worth a figure.
func (t *turn) drainOf(orders float64) float64 {
	if t.Backlog < leastBacklog {
		return 0
	}
	return t.Drain * orders / float64(t.Backlog)
}
