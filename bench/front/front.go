// Package front puts the service's own HTTP side (routes, middleware, token check, answers) before the desk of a
// baseline, so that two contestants of the benchmark differ in what is measured and in nothing else.
package front

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"time"

	"seckill/internal/httpapi"
	"seckill/internal/order"
	"seckill/internal/voucher"
)

// Buyer is the part of a desk that baselines have.
type Buyer interface {
	// Buy is httpapi.Desk's.
	Buy(ctx context.Context, userID, voucherID int64, wait time.Duration) (order.Order, error)
}

// Serve answers requests on addr until ctx ends, then finishes those in flight.
func Serve(ctx context.Context, addr string, secret []byte, b Buyer) error {
	api, err := httpapi.New(httpapi.Config{
		Vouchers: noVouchers{}, Desk: desk{b},
		Log:    slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
		Tokens: httpapi.TokenRules{Secret: secret},
	})
	if err != nil {
		return err
	}
	srv := api.Server(addr)
	ended := make(chan error, 1)
	go func() { ended <- srv.ListenAndServe() }()
	select {
	case err = <-ended:
		return err
	case <-ctx.Done():
	}
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	err = srv.Shutdown(stopping)
	if served := <-ended; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// desk is a desk that only sells.
type desk struct{ Buyer }

func (desk) Order(context.Context, int64, int64, time.Duration) (order.Order, error) {
	return order.Order{}, order.ErrNotFound
}

func (desk) Orders(context.Context, order.Filter, int64, int) ([]order.Order, int64, error) {
	return nil, 0, nil
}

// noVouchers has none.
type noVouchers struct{}

var errNone = errors.New("a baseline has no vouchers to show")

func (noVouchers) CreateOrdinary(context.Context, voucher.Author, voucher.Draft) (voucher.Shown, error) {
	return voucher.Shown{}, errNone
}

func (noVouchers) CreateSeckill(context.Context, voucher.Author, voucher.Draft, voucher.SaleDraft) (voucher.Shown, error) {
	return voucher.Shown{}, errNone
}

func (noVouchers) Get(context.Context, int64) (voucher.Shown, time.Time, error) {
	return voucher.Shown{}, time.Time{}, voucher.ErrNotFound
}

func (noVouchers) List(context.Context, int64) ([]voucher.Shown, int64, time.Time, error) {
	return nil, 0, time.Time{}, nil
}
