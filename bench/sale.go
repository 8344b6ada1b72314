package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"
)

// salePlan is a long sale: more buyers than units.
type salePlan struct{ buyers, units int64 }

// course is a long sale from its start to its last row.
type course struct {
	Buyers  int64   `json:"buyers"`
	Units   int64   `json:"units"`
	Rate    float64 `json:"answeredPerSecond"`
	P50     float64 `json:"p50Millis"`
	P99     float64 `json:"p99Millis"`
	SoldOut float64 `json:"soldOutSeconds"`    // from the start to the last acceptance
	LastRow float64 `json:"lastRowSeconds"`    // to the last row
	Told    float64 `json:"lastAnswerSeconds"` // to the last answer
	MostLag int64   `json:"mostWaiting"`       // orders accepted and not recorded, at most
	Points  []point `json:"points"`
}

// point is a moment of it, in sums since the start.
type point struct {
	Second   float64 `json:"second"`
	Accepted int64   `json:"accepted"`
	Refused  int64   `json:"refused"`
	Recorded int64   `json:"recorded"`
}

func (c *course) String() string {
	return fmt.Sprintf("%d buyers, %d units: sold out after %.1f s, last row after %.1f s, last answer after %.1f s (%.0f/s, p50 %.2f ms, p99 %.2f ms); "+
		"%d orders waited at most", c.Buyers, c.Units, c.SoldOut, c.LastRow, c.Told, c.Rate, c.P50, c.P99, c.MostLag)
}

func takeSale(ctx context.Context, r *round) (c course, err error) {
	c = course{Buyers: r.plan.sale.buyers, Units: r.plan.sale.units}
	err = withService(ctx, r, func(at *place, to *target) (int64, error) {
		if to.voucher, err = createSale(ctx, to.addr, c.Units); err != nil {
			return 0, err
		}
		v := r.volley(to, time.Hour)
		v.warmUp, v.most, v.other, v.meter = 0, c.Buyers, http.StatusConflict, &meter{}
		began := time.Now()
		watching, stop := context.WithCancel(ctx)
		defer stop()
		var group errgroup.Group
		group.Go(func() error { return c.watch(watching, at, v.meter, began) })
		b, err := v.fire(ctx)
		c.Told = b.ended.Sub(began).Seconds()
		if err == nil {
			err = at.awaitRecorded(ctx, c.Units)
		}
		stop()
		if werr := group.Wait(); err == nil {
			err = werr
		}
		c.Rate, c.P50, c.P99 = b.rate, millis(b.p50), millis(b.p99)
		if err == nil {
			err = unequal(map[string][2]int64{
				"accepted are the units": {b.answered, c.Units}, "refused are the others": {b.refused, c.Buyers - c.Units},
			})
		}
		return b.answered, err
	})
	return c, err
}

// watch notes how far the sale is until ctx ends.
func (c *course) watch(ctx context.Context, at *place, m *meter, began time.Time) error {
	for {
		recorded, err := at.recorded(ctx)
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // the sale is over: so is this
		case err != nil:
			return err
		}
		// Read after the rows, so that what waits is never less than nothing.
		p := point{Second: time.Since(began).Seconds(), Accepted: m.wanted.Load(), Refused: m.other.Load(), Recorded: recorded}
		p.Accepted = max(p.Accepted, recorded) // an answer may be on its way to be counted
		c.MostLag = max(c.MostLag, p.Accepted-p.Recorded)
		if c.SoldOut == 0 && p.Accepted == c.Units {
			c.SoldOut = p.Second
		}
		if c.LastRow == 0 && p.Recorded == c.Units {
			c.LastRow = p.Second
		}
		c.Points = append(c.Points, p)
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
}
