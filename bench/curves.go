package main

import (
	"context"
	"errors"
	"net/http"
)

// measureConnections lets more and more connections ask at the same time.
func measureConnections(ctx context.Context, r *round, s *samples) (err error) {
	counts := []int{16, 64, 256, 1024, 8192}
	at, err := r.stores.newPlace(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, at.clear(context.WithoutCancel(ctx))) }()
	bare, err := stage{r.bin, "bare"}.start(ctx, at, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bare.stop()) }()
	for _, n := range counts {
		v := r.volley(bare, r.plan.duration)
		v.connections = min(n, r.plan.stampede)
		b, err := v.fire(ctx)
		if err == nil {
			err = s.add(r, bareName, int64(v.connections), b, bare)
		}
		if err != nil {
			return err
		}
	}
	if err = bare.stop(); err != nil {
		return err
	}
	return withService(ctx, r, func(at *place, to *target) (accepted int64, err error) {
		for _, n := range counts {
			if to.voucher, err = createSale(ctx, to.addr, unlimited); err != nil { // everybody may buy again
				return 0, err
			}
			v := r.volley(to, r.plan.duration)
			v.connections = min(n, r.plan.stampede)
			v.other = http.StatusServiceUnavailable // refused early, where the line has grown too long
			b, err := v.fire(ctx)
			if err == nil {
				err = s.add(r, serviceName, int64(v.connections), b, to)
			}
			if err != nil {
				return 0, err
			}
			accepted += b.answered
			if err = at.awaitRecorded(ctx, accepted); err != nil {
				return 0, err
			}
		}
		return accepted, nil
	})
}

// measureSales has more and more sales on sale at once, and each buyer ask for the next of them.
func measureSales(ctx context.Context, r *round, s *samples) error {
	return withService(ctx, r, func(at *place, to *target) (accepted int64, err error) {
		for _, n := range []int{1, 10, 100, 1000} {
			v := r.volley(to, r.plan.duration/2)
			if v.doors[0].vouchers, err = createSales(ctx, to.addr, min(n, r.plan.scale.sales), unlimited); err != nil {
				return 0, err
			}
			b, err := v.fire(ctx)
			if err == nil {
				err = s.add(r, serviceName, int64(n), b, to)
			}
			if err != nil {
				return 0, err
			}
			accepted += b.answered
			if err = at.awaitRecorded(ctx, accepted); err != nil {
				return 0, err
			}
		}
		return accepted, nil
	})
}

// measureStock sells more and more units. The crowd stays as large, so that small sales are mostly refusals.
func measureStock(ctx context.Context, r *round, s *samples) error {
	return withService(ctx, r, func(at *place, to *target) (accepted int64, err error) {
		for _, stock := range []int64{100, 1000, 10_000, 100_000, 1_000_000} {
			if to.voucher, err = createSale(ctx, to.addr, stock); err != nil {
				return 0, err
			}
			v := r.volley(to, r.plan.duration/2)
			v.other = http.StatusConflict
			b, err := v.fire(ctx)
			if err == nil {
				err = s.add(r, serviceName, stock, b, to)
			}
			if err != nil {
				return 0, err
			}
			accepted += b.answered
			if sold := min(stock, b.answered+b.refused); b.answered != sold {
				return 0, unequal(map[string][2]int64{"accepted are the stock, or all who asked": {b.answered, sold}})
			}
			if err = at.awaitRecorded(ctx, accepted); err != nil {
				return 0, err
			}
		}
		return accepted, nil
	})
}
