package measures

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"seckill/lab/bench/result"
	"seckill/lab/load"
	"seckill/lab/rig"
)

// traceTime is how long each load is recorded: a trace of Go's runtime grows by 10 MB per second and more. The load
// goes on for traceSlack longer, as perf needs time to start.
const traceTime, traceSlack = 2 * time.Second, 2 * time.Second

// Trace records the service and the machine while a thousand sales are sold in turn, and at half load. For each it
// writes a trace of Go's runtime (go tool trace), perf's record of the scheduler, and a table of how long each process
// waits for a processor, to a directory. Without perf, or without the right to trace the kernel, it says so and leaves
// that part out.
func (b *Bench) Trace(ctx context.Context, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, load := range []struct {
		name  string
		sales int
		half  bool
	}{{"one-sale", 1, false}, {"many-sales", b.plan.Scale.Sales, false}, {"half-load", 1, true}} {
		if err := b.traceLoad(ctx, filepath.Join(dir, load.name), load.sales, load.half); err != nil {
			return fmt.Errorf("%s: %w", load.name, err)
		}
	}
	return nil
}

// traceLoad records one load. Half load has half of the rate that the burst before has shown.
func (b *Bench) traceLoad(ctx context.Context, path string, sales int, half bool) error {
	return b.withOperations(ctx, func(at *rig.Namespace, server *rig.Server, operations string) error {
		vouchers, err := server.CreateSales(ctx, sales, bigStock)
		if err != nil {
			return err
		}
		burst := b.burst(server, b.plan.Duration/2)
		burst.Endpoints = []load.Endpoint{{Addr: server.Addr, Vouchers: vouchers}}
		before, err := burst.Send(ctx)
		if err != nil {
			return err
		}
		if err = at.AwaitRecorded(ctx, before.Want); err != nil {
			return err
		}
		burst.First, burst.Duration = before.Next, traceTime+traceSlack
		if half {
			burst.Rate = before.Rate / 2
		}
		return b.record(ctx, server, operations, path, burst)
	})
}

// record sends the burst twice: once while the runtime is traced, once while the scheduler is.
func (b *Bench) record(ctx context.Context, server *rig.Server, operations, path string, burst load.Burst) error {
	url := fmt.Sprintf("http://%s/debug/pprof/trace?seconds=%d", operations, int(traceTime.Seconds()))
	traced, err := b.during(ctx, burst, func(ctx context.Context) error {
		trace, err := fetch(ctx, url)
		if err != nil {
			return err
		}
		return os.WriteFile(path+".trace", trace, 0o600)
	})
	if err != nil {
		return err
	}
	burst.First = traced.Next
	processes := b.stores.Processes(ctx, server)
	var waits rig.Waits
	before := processes.Time()
	answers, err := b.during(ctx, burst, func(ctx context.Context) (err error) {
		waits, err = rig.RecordWaits(ctx, path+".sched", traceTime, processes)
		return err
	})
	if err != nil {
		return err
	}
	t := result.Trial{Candidate: filepath.Base(path), Round: 1, Figures: figuresOf(answers)}
	addTime(t.Figures, processes.Since(before), answers.Want)
	b.logTrial(t)
	fmt.Fprint(b.progress, waits.Table(answers.Rate*traceTime.Seconds()))
	return nil
}

// during sends a burst, and runs a function from the end of its warm-up.
func (b *Bench) during(
	ctx context.Context, burst load.Burst, do func(context.Context) error,
) (answers load.Answers, err error) {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) { answers, err = burst.Send(ctx); return err })
	group.Go(func() error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(burst.WarmUp):
			return do(ctx)
		}
	})
	return answers, group.Wait()
}
