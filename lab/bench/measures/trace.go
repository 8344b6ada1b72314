package measures

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"seckill/internal/testkit/freeport"
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

// Profile takes a processor profile of the service, for the compiler's optimisation: it sells for half of the plan's
// duration, and refuses, sold out, for the other half.
func (b *Bench) Profile(ctx context.Context) (profile []byte, err error) {
	err = b.withOperations(ctx, func(_ *rig.Namespace, server *rig.Server, operations string) error {
		url := fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", operations, int(b.plan.Duration.Seconds()))
		group, ctx := errgroup.WithContext(ctx)
		group.Go(func() (err error) { profile, err = fetch(ctx, url); return err })
		group.Go(func() error { return b.sellThenRefuse(ctx, server) })
		return group.Wait()
	})
	return profile, err
}

// withOperations runs the service with its address for operators, where it can be profiled and traced.
func (b *Bench) withOperations(
	ctx context.Context, f func(at *rig.Namespace, server *rig.Server, operations string) error,
) error {
	return b.inNamespace(ctx, func(at *rig.Namespace) (err error) {
		operations, err := freeport.TakeAddr(ctx)
		if err != nil {
			return err
		}
		server, err := b.service().Launch(ctx, at, "bench", "SECKILL_OPS_ADDR="+operations)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, server.Stop()) }()
		return f(at, server, operations)
	})
}

// sellThenRefuse loads the server for the plan's duration.
func (b *Bench) sellThenRefuse(ctx context.Context, server *rig.Server) error {
	if err := server.Sell(ctx, rig.Unlimited); err != nil {
		return err
	}
	if _, err := b.burst(server, b.plan.Duration/2).Send(ctx); err != nil {
		return err
	}
	if err := server.Sell(ctx, 1); err != nil {
		return err
	}
	if err := server.BuyOne(ctx, server.Voucher); err != nil {
		return err
	}
	refused := b.burst(server, b.plan.Duration/2)
	refused.Want = http.StatusConflict
	_, err := refused.Send(ctx)
	return err
}

func fetch(ctx context.Context, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }() // read to its end below
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answers %s: %s", url, resp.Status, body)
	}
	return body, err
}
