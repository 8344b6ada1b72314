package measures

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"golang.org/x/sync/errgroup"

	"seckill/internal/testkit/freeport"
	"seckill/lab/rig"
)

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
