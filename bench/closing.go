package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"seckill/bench/chart"
)

// closingPlan is what a closing is measured with.
type closingPlan struct {
	overdue int64         // orders in the backlog
	pace    float64       // purchases a second of the sale that goes on meanwhile
	watched time.Duration // for which each closing is watched
}

// closing is how a backlog of overdue orders was closed while another sale went on.
type closing struct {
	Backlog  int64         `json:"backlog"`
	Pace     float64       `json:"purchasesPerSecond"` // of the sale that goes on
	Quiet    latency       `json:"withoutClosing"`
	Closings []closingRate `json:"closings"`
}

// closingRate is one closing at one setting of SECKILL_CLOSE_RATE.
type closingRate struct {
	Setting int     `json:"closeRate"`
	Closed  int64   `json:"closed"`
	Rate    float64 `json:"closedPerSecond"`
	Whole   bool    `json:"wholeBacklog"` // it was closed to its end in the measured time
	Sale    latency `json:"sale"`         // of purchases meanwhile
}

type latency struct {
	P50 float64 `json:"p50Millis"`
	P99 float64 `json:"p99Millis"`
}

func (c *closing) String() string { return c.table() }

// table is Markdown.
func (c *closing) table() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s overdue orders of one voucher are closed, while another sale of the same service goes on at %s purchases a second. "+
		"`SECKILL_CLOSE_RATE` bounds the closing.\n\n| Closed at most, a second | Closed, a second | Purchases, p50 ms | p99 ms |\n| --- | --- | --- | --- |\n"+
		"| none | 0 | %.2f | %.2f |\n", chart.Number(float64(c.Backlog)), chart.Number(c.Pace), c.Quiet.P50, c.Quiet.P99)
	for _, r := range c.Closings {
		fmt.Fprintf(&text, "| %s | %s | %.2f | %.2f |\n", chart.Number(float64(r.Setting)), chart.Number(r.Rate), r.Sale.P50, r.Sale.P99)
	}
	return text.String()
}

// closingRates are the settings that are tried: the default, more, and no bound in effect.
func closingRates() []int { return []int{2000, 5000, 1_000_000} }

// takeClosing sells a backlog of orders, lets their payment deadline pass, and watches them being closed; each time on a
// fresh service, whose books must balance at the end.
func takeClosing(ctx context.Context, r *round) (c closing, err error) {
	c.Backlog, c.Pace = r.plan.closing.overdue, r.plan.closing.pace
	for i, setting := range closingRates() {
		one, quiet, err := closeBacklog(ctx, r, setting, i == 0)
		if err != nil {
			return c, fmt.Errorf("at most %d/s: %w", setting, err)
		}
		if i == 0 {
			c.Quiet = quiet
		}
		c.Closings = append(c.Closings, one)
	}
	return c, nil
}

// closeBacklog is one closing at one setting; alone says that the other sale is measured by itself before.
func closeBacklog(ctx context.Context, r *round, setting int, alone bool) (one closingRate, quiet latency, err error) {
	one.Setting = setting
	at, err := r.stores.newPlace(ctx)
	if err != nil {
		return one, quiet, err
	}
	defer func() { err = errors.Join(err, at.clear(context.WithoutCancel(ctx))) }()
	to, err := service{r.bin}.launch(ctx, at, "bench", fmt.Sprintf("SECKILL_CLOSE_RATE=%d", setting))
	if err != nil {
		return one, quiet, err
	}
	defer func() { err = errors.Join(err, to.stop()) }()
	if to.voucher, err = createSale(ctx, to.addr, unlimited); err != nil {
		return one, quiet, err
	}
	fill := r.volley(to, time.Minute)
	fill.most, fill.warmUp = r.plan.closing.overdue, 0
	b, err := fill.fire(ctx)
	if err == nil {
		err = at.awaitRecorded(ctx, b.answered)
	}
	if err != nil {
		return one, quiet, err
	}
	overdue := to.voucher
	if to.voucher, err = createSale(ctx, to.addr, unlimited); err != nil {
		return one, quiet, err
	}
	going := r.volley(to, r.plan.closing.watched)
	going.pace = r.plan.closing.pace
	if alone {
		before, err := going.fire(ctx)
		if err != nil {
			return one, quiet, err
		}
		quiet, going.first = latency{millis(before.p50), millis(before.p99)}, before.next
	}
	if _, err = at.db.ExecContext(ctx, "UPDATE tb_voucher_order SET pay_deadline = '2020-01-01' WHERE voucher_id = ?", overdue); err != nil {
		return one, quiet, err
	}
	began := time.Now()
	watched := at.watchClosing(ctx, overdue, b.answered)
	during, err := going.fire(ctx)
	if err != nil {
		return one, quiet, err
	}
	one.Sale = latency{millis(during.p50), millis(during.p99)}
	if one.Closed, err = at.closed(ctx, overdue); err != nil {
		return one, quiet, err
	}
	took := time.Since(began)
	select {
	case ended := <-watched:
		one.Whole, took = true, ended.Sub(began)
	default:
	}
	one.Rate = float64(one.Closed) / took.Seconds()
	if err = to.stop(); err != nil {
		return one, quiet, err
	}
	// Every unit that was given back is on sale again, in both stores; a stopped service may owe Redis its last ones.
	return one, quiet, at.balanceClosed(ctx)
}

// watchClosing tells when the whole backlog is closed, if that happens before ctx ends.
func (p *place) watchClosing(ctx context.Context, voucher, backlog int64) <-chan time.Time {
	ended := make(chan time.Time, 1)
	go func() {
		for ctx.Err() == nil {
			if n, err := p.closed(ctx, voucher); err != nil || n >= backlog {
				if err == nil {
					ended <- time.Now()
				}
				return
			}
			time.Sleep(200 * time.Millisecond)
		}
	}()
	return ended
}

func (p *place) closed(ctx context.Context, voucher int64) (int64, error) {
	return p.number(ctx, fmt.Sprintf("SELECT COUNT(*) FROM tb_voucher_operation WHERE voucher_id = %d", voucher))
}

// balanceClosed wants stock and live orders to add up, and as many operations as closed orders.
func (p *place) balanceClosed(ctx context.Context) error {
	var counts [4]int64
	for i, query := range []string{
		"SELECT SUM(issued - stock) FROM tb_seckill_voucher",
		"SELECT COUNT(*) FROM tb_voucher_order WHERE status = 1",
		"SELECT COUNT(*) FROM tb_voucher_order WHERE status = 4",
		"SELECT COUNT(*) FROM tb_voucher_operation",
	} {
		var err error
		if counts[i], err = p.number(ctx, query); err != nil {
			return err
		}
	}
	return unequal(map[string][2]int64{
		"units sold are the live orders":            {counts[0], counts[1]},
		"each closed order has given its unit back": {counts[2], counts[3]},
	})
}
