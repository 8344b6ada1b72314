package measures

import (
	"context"
	"errors"
	"fmt"
	"time"

	"seckill/lab/bench/audit"
	"seckill/lab/bench/result"
	"seckill/lab/load"
	"seckill/lab/rig"
)

// expiryRates returns the settings of SECKILL_CLOSE_RATE to try: the default, more, and practically no limit.
func expiryRates() []int { return []int{2000, 5000, 1_000_000} }

// expiry sells a backlog of orders, lets their payment deadline pass, and watches them expire while another sale goes
// on; each time on a fresh service.
func (b *Bench) expiry(ctx context.Context) (e result.Expiry, err error) {
	e.Backlog, e.Rate = b.plan.Expiry.Overdue, b.plan.Expiry.Rate
	for i, setting := range expiryRates() {
		one := result.ExpiryRate{Setting: setting}
		var quiet *result.Latency
		if i == 0 {
			quiet = &e.Quiet
		}
		if err = b.inNamespace(ctx,
			func(at *rig.Namespace) error { return b.expire(ctx, at, &one, quiet) }); err != nil {
			return e, fmt.Errorf("at most %d/s: %w", setting, err)
		}
		e.Rates = append(e.Rates, one)
	}
	return e, nil
}

// expire measures one expiry at one setting. If its latency is wanted, the other sale is first measured alone.
func (b *Bench) expire(
	ctx context.Context, at *rig.Namespace, one *result.ExpiryRate, quiet *result.Latency,
) (err error) {
	server, err := b.service().Launch(ctx, at, "bench", fmt.Sprintf("SECKILL_CLOSE_RATE=%d", one.Setting))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	backlog, err := b.sellBacklog(ctx, at, server)
	if err != nil {
		return err
	}
	overdue := server.Voucher
	if err = server.Sell(ctx, rig.Unlimited); err != nil {
		return err
	}
	load := b.burst(server, b.plan.Expiry.Watched)
	load.Rate = b.plan.Expiry.Rate
	if quiet != nil {
		alone, err := load.Send(ctx)
		if err != nil {
			return err
		}
		*quiet, load.First = latencyOf(alone), alone.Next
	}
	if _, err = at.DB.ExecContext(ctx, "UPDATE tb_voucher_order SET pay_deadline = '2020-01-01' WHERE voucher_id = ?",
		overdue); err != nil {
		return err
	}
	began := time.Now()
	ended := watchExpiry(ctx, at, overdue, backlog)
	during, err := load.Send(ctx)
	if err != nil {
		return err
	}
	one.Sale = latencyOf(during)
	if one.Expired, err = expired(ctx, at, overdue); err != nil {
		return err
	}
	took := time.Since(began)
	select {
	case end := <-ended:
		one.Whole, took = true, end.Sub(began)
	default:
	}
	one.Rate = float64(one.Expired) / took.Seconds()
	if err = server.Stop(); err != nil {
		return err
	}
	// Every unit that was given back is on sale again, in both stores; a stopped service may not have applied the last
	// ones in Redis.
	return audit.Expired(ctx, at)
}

// sellBacklog sells as many units of a new voucher as the plan says, waits until they are recorded, and returns how
// many.
func (b *Bench) sellBacklog(ctx context.Context, at *rig.Namespace, server *rig.Server) (orders int64, err error) {
	if err = server.Sell(ctx, rig.Unlimited); err != nil {
		return 0, err
	}
	fill := b.burst(server, time.Minute)
	fill.Limit, fill.WarmUp = b.plan.Expiry.Overdue, 0
	answers, err := fill.Send(ctx)
	if err != nil {
		return 0, err
	}
	return answers.Want, at.AwaitRecorded(ctx, answers.Want)
}

// watchExpiry signals when the whole backlog has expired, if that happens before ctx ends.
func watchExpiry(ctx context.Context, at *rig.Namespace, voucher, backlog int64) <-chan time.Time {
	ended := make(chan time.Time, 1)
	go func() {
		for ctx.Err() == nil {
			if n, err := expired(ctx, at, voucher); err != nil || n >= backlog {
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

func expired(ctx context.Context, at *rig.Namespace, voucher int64) (int64, error) {
	return at.Number(ctx, fmt.Sprintf("SELECT COUNT(*) FROM tb_voucher_operation WHERE voucher_id = %d", voucher))
}

func latencyOf(a load.Answers) result.Latency {
	return result.Latency{P50: millis(a.P50), P99: millis(a.P99)}
}
