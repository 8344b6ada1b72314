package rig

import (
	"context"
	"errors"
	"slices"

	"seckill/internal/testkit/freeport"
	"seckill/lab/load"
)

// Service is a build of the service, started as in a deployment.
type Service struct{ Path string }

// Unlimited is a stock that no burst sells out.
const Unlimited = 100_000_000

// settings returns the service's settings, except where it listens.
func (s Service) settings(at *Namespace) []string {
	return []string{
		"SECKILL_OPS_ADDR=off",
		"SECKILL_REDIS_ADDRS=" + at.Stores.RedisAddr,
		"SECKILL_REDIS_PREFIX=" + at.Prefix,
		"SECKILL_MYSQL_DSN=" + at.dsn,
		"SECKILL_JWT_SECRET=" + load.Secret,
	}
}

// Launch starts one instance without a voucher on sale; more are additional settings (NAME=value).
func (s Service) Launch(ctx context.Context, at *Namespace, instance string, more ...string) (*Server, error) {
	addr, err := freeport.TakeAddr(ctx)
	if err != nil {
		return nil, err
	}
	env := slices.Concat(s.settings(at), more, []string{"SECKILL_HTTP_ADDR=" + addr, "SECKILL_INSTANCE=" + instance})
	c, err := spawn(ctx, s.Path, addr, env, "serve")
	if err != nil {
		return nil, err
	}
	return &Server{Child: c, Addr: addr}, nil
}

// Start starts one instance with a sale of that stock.
func (s Service) Start(ctx context.Context, at *Namespace, stock int64) (*Server, error) {
	server, err := s.Launch(ctx, at, "bench")
	if err != nil {
		return nil, err
	}
	if err = server.Sell(ctx, stock); err != nil {
		return nil, errors.Join(err, server.Stop())
	}
	return server, nil
}

// Migrate creates the service's tables.
func (s Service) Migrate(ctx context.Context, at *Namespace) error {
	return runToEnd(ctx, s.Path, s.settings(at), "migrate")
}
