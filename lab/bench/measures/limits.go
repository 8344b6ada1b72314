package measures

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"seckill/lab/bench/audit"
	"seckill/lab/bench/result"
	"seckill/lab/load"
	"seckill/lab/rig"
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

// LongSale sells to more buyers than there are units, and compares the sale's report with the ledger.
func (b *Bench) LongSale(ctx context.Context) (result.LongSale, error) {
	s, err := b.longSale(ctx)
	if err != nil {
		return s, fmt.Errorf("a long sale: %w", err)
	}
	fmt.Fprintf(b.progress,
		"%d buyers, %d units: sold out after %.1f s, last row after %.1f s, last answer after %.1f s\n",
		s.Buyers, s.Units, s.SoldOut, s.LastRow, s.LastAnswer)
	return s, nil
}

// longSale follows a sale with more buyers than units from its start to its last answer.
func (b *Bench) longSale(ctx context.Context) (s result.LongSale, err error) {
	s = result.LongSale{Buyers: b.plan.Sale.Buyers, Units: b.plan.Sale.Units}
	err = b.withService(ctx, func(at *rig.Namespace, server *rig.Server) (int64, error) {
		if err := server.Sell(ctx, s.Units); err != nil {
			return 0, err
		}
		burst := b.burst(server, time.Hour)
		burst.WarmUp, burst.Limit, burst.Other, burst.Counters = 0, s.Buyers, http.StatusConflict, &load.Counters{}
		began := time.Now()
		watching, stop := context.WithCancel(ctx)
		defer stop()
		var group errgroup.Group
		group.Go(func() error { return watchSale(watching, at, burst.Counters, began, &s) })
		answers, err := burst.Send(ctx)
		s.LastAnswer = answers.Ended.Sub(began).Seconds()
		if err == nil {
			err = at.AwaitRecorded(ctx, s.Units)
		}
		stop()
		if werr := group.Wait(); err == nil {
			err = werr
		}
		fmt.Fprintf(b.progress, "%d buyers were answered after %.1f s, rows followed\n",
			answers.Want+answers.Other, s.LastAnswer)
		s.Rate, s.P50, s.P99 = answers.Rate, millis(answers.P50), millis(answers.P99)
		if err == nil {
			err = audit.Equal(map[string][2]int64{
				"accepted are the units": {answers.Want, s.Units},
				"refused are the others": {answers.Other, s.Buyers - s.Units},
			})
		}
		if err == nil {
			reading := time.Now()
			err = audit.Report(ctx, at, server, s.Buyers, s.Units)
			fmt.Fprintf(b.progress, "its report and the file of its orders were held to the ledger in %.1f s\n",
				time.Since(reading).Seconds())
		}
		return answers.Want, err
	})
	return s, err
}

// watchSale records the progress of the sale until ctx ends.
func watchSale(ctx context.Context, at *rig.Namespace, c *load.Counters, began time.Time, s *result.LongSale) error {
	for {
		recorded, err := at.Recorded(ctx)
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // the sale is over, and so is watching it
		case err != nil:
			return err
		}
		// Counted after the rows, so that the number of waiting orders is never negative.
		m := result.Moment{
			Second: time.Since(began).Seconds(), Accepted: c.Want.Load(), Refused: c.Other.Load(), Recorded: recorded,
		}
		m.Accepted = max(m.Accepted, recorded) // an answer may not have been counted yet
		s.MaxWaiting = max(s.MaxWaiting, m.Accepted-m.Recorded)
		if s.SoldOut == 0 && m.Accepted == s.Units {
			s.SoldOut = m.Second
		}
		if s.LastRow == 0 && m.Recorded == s.Units {
			s.LastRow = m.Second
		}
		s.Progress = append(s.Progress, m)
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
}
