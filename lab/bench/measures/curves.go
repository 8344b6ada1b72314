package measures

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"seckill/lab/bench/audit"
	"seckill/lab/bench/candidate"
	"seckill/lab/bench/result"
	"seckill/lab/load"
	"seckill/lab/rig"
)

// curve is the trials along one axis, in all rounds.
type curve struct {
	*Bench
	round  int
	trials []result.Trial
}

// add measures one point: a burst, and the server's memory after it.
func (c *curve) add(
	ctx context.Context, name string, at int64, burst load.Burst, server *rig.Server,
) (load.Answers, error) {
	answers, err := burst.Send(ctx)
	if err != nil {
		return answers, err
	}
	t := result.Trial{Candidate: name, At: at, Round: c.round, Figures: figuresOf(answers)}
	t.Figures[result.Refused] = float64(answers.Other)
	t.Figures[result.ServerMemory], err = server.Memory()
	c.logTrial(t)
	c.trials = append(c.trials, t)
	return answers, err
}

// byConnections measures with more and more connections at the same time.
func (b *Bench) byConnections(ctx context.Context, c *curve) error {
	var counts []int
	for _, n := range []int{16, 64, 256, 1024, 8192} {
		counts = append(counts, min(n, b.plan.Stampede))
	}
	counts = slices.Compact(counts)
	err := b.inNamespace(ctx, func(at *rig.Namespace) (err error) {
		plain, err := b.stage("gin").Start(ctx, at, 0)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, plain.Stop()) }()
		for _, n := range counts {
			burst := b.burst(plain, b.plan.Duration)
			burst.Connections = n
			if _, err = c.add(ctx, candidate.Gin, int64(n), burst, plain); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return b.withService(ctx, func(at *rig.Namespace, server *rig.Server) (accepted int64, err error) {
		for _, n := range counts {
			if err = server.Sell(ctx, rig.Unlimited); err != nil {
				return 0, err
			}
			burst := b.burst(server, b.plan.Duration)
			burst.Connections = n
			burst.Other = http.StatusServiceUnavailable // refused early, when too many requests wait
			answers, err := c.add(ctx, candidate.Service, int64(n), burst, server)
			if err != nil {
				return 0, err
			}
			accepted += answers.Want
			if err = at.AwaitRecorded(ctx, accepted); err != nil {
				return 0, err
			}
		}
		return accepted, nil
	})
}

// bySales measures with more and more sales at once; users ask for them in turn.
func (b *Bench) bySales(ctx context.Context, c *curve) error {
	return b.withService(ctx, func(at *rig.Namespace, server *rig.Server) (accepted int64, err error) {
		for _, n := range []int{1, 10, 100, 1000} {
			burst := b.burst(server, b.plan.Duration/2)
			if burst.Endpoints[0].Vouchers, err = server.CreateSales(ctx, min(n, b.plan.Scale.Sales),
				rig.Unlimited); err != nil {
				return 0, err
			}
			answers, err := c.add(ctx, candidate.Service, int64(n), burst, server)
			if err != nil {
				return 0, err
			}
			accepted += answers.Want
			if err = at.AwaitRecorded(ctx, accepted); err != nil {
				return 0, err
			}
		}
		return accepted, nil
	})
}

// byStock measures with more and more units. The load stays the same, so small sales are mostly refusals.
func (b *Bench) byStock(ctx context.Context, c *curve) error {
	return b.withService(ctx, func(at *rig.Namespace, server *rig.Server) (accepted int64, err error) {
		for _, stock := range []int64{100, 1000, 10_000, 100_000, 1_000_000} {
			if err = server.Sell(ctx, stock); err != nil {
				return 0, err
			}
			burst := b.burst(server, b.plan.Duration/2)
			burst.Other = http.StatusConflict
			answers, err := c.add(ctx, candidate.Service, stock, burst, server)
			if err != nil {
				return 0, err
			}
			accepted += answers.Want
			if sold := min(stock, answers.Want+answers.Other); answers.Want != sold {
				return 0, audit.Equal(map[string][2]int64{
					"accepted are the stock, or all who asked": {answers.Want, sold},
				})
			}
			if err = at.AwaitRecorded(ctx, accepted); err != nil {
				return 0, err
			}
		}
		return accepted, nil
	})
}
