package main

import (
	"context"
	"strconv"
)

// stage is one of the steps in bench/stages.
type stage struct {
	bin  binaries
	name string // its flag -stage
}

// start starts it with so many units on sale.
func (s stage) start(ctx context.Context, at *place, stock int64) (*target, error) {
	return s.launch(ctx, at, "-stock", strconv.FormatInt(stock, 10))
}

// launch starts a process of it; the flags say what part it has.
func (s stage) launch(ctx context.Context, at *place, flags ...string) (*target, error) {
	addr, err := freeAddr(ctx)
	if err != nil {
		return nil, err
	}
	c, err := spawn(ctx, s.bin.path("stages"), addr, nil, append([]string{
		"-stage", s.name, "-addr", addr,
		"-redis", at.stores.redisAddr, "-prefix", at.prefix, "-dsn", at.dsn,
	}, flags...)...)
	if err != nil {
		return nil, err
	}
	return &target{child: c, addr: addr, voucher: 1}, nil
}
