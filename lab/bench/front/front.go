// Package front puts the service's own HTTP side (routes, middleware, token check, answers) in front of a baseline's
// purchase service, so that two candidates differ only in what is being measured.
package front

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"time"

	"seckill/internal/authtoken"
	"seckill/internal/config"
	"seckill/internal/httpapi"
	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/shop"
	"seckill/internal/kit/bulkhead"
	"seckill/internal/kit/idempotency"
	"seckill/internal/order"
	"seckill/internal/voucher"
)

// Buyer is the part of a purchase service that baselines implement.
type Buyer interface {
	// Buy is like that of shop.Purchases, for one unit of the voucher.
	Buy(ctx context.Context, userID, voucherID int64, wait time.Duration) (order.Order, error)
}

// Serve answers requests on addr until ctx ends, then finishes those in flight.
func Serve(ctx context.Context, addr string, secret []byte, b Buyer) error {
	defaults, err := config.Load(nil)
	if err != nil {
		return err
	}
	inFlight := bulkhead.New(defaults.HTTP.MaxInFlight, 0, bulkhead.Requests()...)
	streams := httpkit.NewStreams(defaults.HTTP.MaxStreams, defaults.HTTP.UserStreams)
	sells, err := shop.New(shop.Config{
		Front: httpkit.Front{
			Bodies: httpkit.Bodies{Limit: defaults.HTTP.BodyLimit}, Streams: streams, Now: time.Now,
			Zone:   defaults.Server.Location,
			ShopOf: func(context.Context, int64) (int64, error) { return 0, voucher.ErrNotFound },
		},
		Vouchers: noVouchers{}, Purchases: purchases{b}, MaxWait: defaults.HTTP.MaxWait, InFlight: inFlight,
		FindVoucher: func(_ context.Context, id int64) (voucher.Voucher, error) {
			return voucher.Voucher{ID: id, Status: voucher.OnShelf}, nil
		},
	})
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	api, err := httpapi.New(httpapi.Config{
		Routes:    sells.Routes(), //nolint:contextcheck // handlers get their context with each request
		Rules:     shop.Rules(),
		FindKey:   func(context.Context, idempotency.Key) error { return nil },
		Log:       log,
		Tokens:    authtoken.Rules{Secret: secret},
		BodyLimit: defaults.HTTP.BodyLimit,
		InFlight:  inFlight, UserBurst: defaults.HTTP.UserBurst, Streams: streams,
	})
	if err != nil {
		return err
	}
	srv := httpapi.NewServer(addr, api.Handler(), defaults.HTTP.MaxWait, streams, log)
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

// purchases is a purchase service that can only sell.
type purchases struct{ buyer Buyer }

func (p purchases) Buy(
	ctx context.Context, userID int64, v voucher.Voucher, _ order.Quantity, wait time.Duration,
) (order.Order, error) {
	return p.buyer.Buy(ctx, userID, v.ID, wait)
}

func (purchases) Order(context.Context, int64, int64, time.Duration) (order.Order, error) {
	return order.Order{}, order.ErrNotFound
}

func (purchases) Orders(context.Context, order.Filter, int64, int) (order.Page, error) {
	return order.Page{}, nil
}

func (purchases) Watch(context.Context, int64, int64, func(order.Order, bool) error) error {
	return order.ErrNotFound
}

func (purchases) WatchAll(context.Context, int64, func(order.Order, bool) error) error { return nil }

// noVouchers is a catalog without vouchers.
type noVouchers struct{}

var errNone = errors.New("a baseline has no vouchers to show")

func (noVouchers) CreateOrdinary(context.Context, voucher.Author, voucher.Draft) (voucher.Shown, error) {
	return voucher.Shown{}, errNone
}

func (noVouchers) CreateSeckill(
	context.Context, voucher.Author, voucher.Draft, voucher.SaleDraft,
) (voucher.Shown, error) {
	return voucher.Shown{}, errNone
}

func (noVouchers) Find(context.Context, int64) (voucher.Shown, error) {
	return voucher.Shown{}, errNone
}

func (noVouchers) All(context.Context, voucher.Search) (voucher.Found, error) {
	return voucher.Found{}, nil
}
