package rig

import (
	"context"
	"strconv"

	"seckill/internal/testkit/freeport"
)

// Stage is one of the designs in lab/bench/stages.
type Stage struct {
	Path string // path of the program bench, whose command stage runs all stages
	Name string // value of its flag -stage
}

// Start starts the stage with that stock of the one voucher that it sells.
func (s Stage) Start(ctx context.Context, at *Namespace, stock int64) (*Server, error) {
	return s.Launch(ctx, at, "-stock", strconv.FormatInt(stock, 10))
}

// Launch starts a process of the stage; the flags say which part it plays.
func (s Stage) Launch(ctx context.Context, at *Namespace, flags ...string) (*Server, error) {
	addr, err := freeport.TakeAddr(ctx)
	if err != nil {
		return nil, err
	}
	c, err := spawn(ctx, s.Path, addr, nil, append([]string{
		"stage", "-stage", s.Name, "-addr", addr,
		"-redis", at.Stores.RedisAddr, "-prefix", at.Prefix, "-dsn", at.dsn,
	}, flags...)...)
	if err != nil {
		return nil, err
	}
	return &Server{Child: c, Addr: addr, Voucher: 1}, nil
}
