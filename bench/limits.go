package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// limitsWarmUp is longer than a comparison's: thousands of connections take a while to be made.
const limitsWarmUp = 2 * time.Second

// limits is everything that the measurement of limits and curves found out.
type limits struct {
	Machine     machine  `json:"machine"`
	Plan        planJSON `json:"plan"`
	Connections []curve  `json:"connections"` // answers per second by connections, of the bare handler and the service
	Sales       []curve  `json:"sales"`       // by sales on sale at once
	Stock       []curve  `json:"stock"`       // by units of one sale; who comes too late is refused
	Stampede    stampede `json:"stampede"`
	Sale        course   `json:"sale"`
	Waiting     waiting  `json:"waiting"`
	Closing     closing  `json:"closing"`
}

// curve is a contestant's figures at one point of an axis.
type curve struct {
	Contestant string  `json:"contestant"`
	At         int64   `json:"at"`
	Rate       spread  `json:"answeredPerSecond"`
	P50        spread  `json:"p50Millis"`
	P99        spread  `json:"p99Millis"`
	Refused    float64 `json:"refusedPercent"`  // of all answers
	Memory     float64 `json:"serverMegabytes"` // resident, the most in any round
}

// findLimits measures curves in rounds, then the stampede, the long sale, waiting and closing, once.
func findLimits(ctx context.Context, r round, stdout, progress io.Writer) (err error) {
	l := limits{Machine: describeMachine(ctx, r.stores), Plan: r.plan.describe()}
	r.plan.warmUp = min(limitsWarmUp, 4*r.plan.warmUp)
	for _, axis := range []struct {
		curve   *[]curve
		measure func(context.Context, *round, *samples) error
	}{
		{&l.Connections, measureConnections}, {&l.Sales, measureSales}, {&l.Stock, measureStock},
	} {
		s := samples{progress: progress}
		for r.number = 1; r.number <= r.plan.rounds; r.number++ {
			if err = axis.measure(ctx, &r, &s); err != nil {
				return err
			}
		}
		*axis.curve = s.curves()
	}
	if l.Stampede, err = takeStampede(ctx, &r); err != nil {
		return fmt.Errorf("stampede: %w", err)
	}
	fmt.Fprintln(progress, &l.Stampede)
	if l.Sale, err = takeSale(ctx, &r); err != nil {
		return fmt.Errorf("a long sale: %w", err)
	}
	fmt.Fprintln(progress, &l.Sale)
	if l.Waiting, err = takeWaiting(ctx, &r); err != nil {
		return fmt.Errorf("waiting for rows: %w", err)
	}
	fmt.Fprintln(progress, &l.Waiting)
	if l.Closing, err = takeClosing(ctx, &r); err != nil {
		return fmt.Errorf("closing a backlog: %w", err)
	}
	fmt.Fprintln(progress, &l.Closing)
	l.tables(stdout)
	if r.plan.out == "" {
		return nil
	}
	return l.write(r.plan.out, progress)
}

// sample is one contestant's volley at one point of an axis.
type sample struct {
	contestant string
	at         int64
	burst      burst
	memory     float64
}

// samples are those of all rounds, in the order in which they were first taken.
type samples struct {
	progress io.Writer
	all      []sample
}

func (s *samples) add(r *round, name string, at int64, b burst, to *target) error {
	memory, err := to.memory()
	fmt.Fprintf(s.progress, "round %d/%d  %-28s %9d  %6.0f/s  p50 %.2f ms  p99 %.2f ms  %.0f MB\n",
		r.number, r.plan.rounds, name, at, b.rate, millis(b.p50), millis(b.p99), memory)
	s.all = append(s.all, sample{name, at, b, memory})
	return err
}

// curves sums the samples up.
func (s *samples) curves() []curve {
	var all []curve
	seen := map[string]bool{}
	for _, first := range s.all {
		key := fmt.Sprint(first.contestant, first.at)
		if seen[key] {
			continue
		}
		seen[key] = true
		var rates, p50s, p99s []float64
		c := curve{Contestant: first.contestant, At: first.at}
		var answered, refused int64
		for _, one := range s.all {
			if one.contestant == first.contestant && one.at == first.at {
				rates, p50s, p99s = append(rates, one.burst.rate), append(p50s, millis(one.burst.p50)), append(p99s, millis(one.burst.p99))
				c.Memory = max(c.Memory, one.memory)
				answered, refused = answered+one.burst.answered, refused+one.burst.refused
			}
		}
		c.Rate, c.P50, c.P99 = over(rates), over(p50s), over(p99s)
		c.Refused = 100 * float64(refused) / float64(max(1, answered+refused))
		all = append(all, c)
	}
	return all
}

// withService gives a fresh service a place, and checks its books at the end against what use says was accepted.
func withService(ctx context.Context, r *round, use func(at *place, to *target) (accepted int64, err error)) (err error) {
	at, err := r.stores.newPlace(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, at.clear(context.WithoutCancel(ctx))) }()
	to, err := service{r.bin}.launch(ctx, at, "bench")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.stop()) }()
	accepted, err := use(at, to)
	if err != nil {
		return err
	}
	if err = at.awaitRecorded(ctx, accepted); err != nil {
		return err
	}
	if err = to.stop(); err != nil {
		return err
	}
	return auditService(ctx, at, to, accepted)
}
