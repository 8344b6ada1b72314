package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

const (
	rushUnits   = 100  // on sale
	rushUsers   = 1000 // who want them
	rushPresses = 4    // of each, at the same time
)

// rush is what became of a short sale at which everybody pressed several times at once: what a contestant gets wrong,
// beside how fast it is.
type rush struct {
	Contestant string `json:"contestant"`
	Processes  int    `json:"processes"`
	Units      int64  `json:"units"`
	Orders     int64  `json:"orders"`
	Oversold   int64  `json:"oversold"` // orders for which there was no unit
	Twice      int64  `json:"twice"`    // orders of users who had one
}

func (d rush) String() string {
	return fmt.Sprintf("%-48s %d units, %d orders: %d oversold, %d of users who had one", d.Contestant, d.Units, d.Orders, d.Oversold, d.Twice)
}

// rushes are the contestants of the short sale; right says that one must make no mistake.
func rushes(b binaries) []struct {
	name   string
	launch []launcher
	right  bool
} {
	svc := service{b}
	first := func(stage stage) launcher {
		return func(ctx context.Context, at *place) (*target, error) { return stage.start(ctx, at, rushUnits) }
	}
	second := func(stage stage) launcher {
		return func(ctx context.Context, at *place) (*target, error) { return stage.launch(ctx, at, "-join") }
	}
	check, update, userLock, redisLock := stage{b, "check"}, stage{b, "update"}, stage{b, "userlock"}, stage{b, "redislock"}
	return []struct {
		name   string
		launch []launcher
		right  bool
	}{
		{checkName, []launcher{first(check)}, false},
		{updateName, []launcher{first(update)}, false},
		{userLockName, []launcher{first(userLock)}, true},
		{userLockName + otherInstances, []launcher{first(userLock), second(userLock)}, false},
		{redisLockName + otherInstances, []launcher{first(redisLock), second(redisLock)}, true},
		{serviceName + otherInstances, []launcher{
			func(ctx context.Context, at *place) (*target, error) { return svc.start(ctx, at, rushUnits) },
			func(ctx context.Context, at *place) (*target, error) { return svc.launch(ctx, at, "bench-2") },
		}, true},
	}
}

// launcher starts one process at the place.
type launcher func(ctx context.Context, at *place) (*target, error)

// takeRushes lets each of them have its short sale, once.
func takeRushes(ctx context.Context, r *round) ([]rush, error) {
	var all []rush
	for _, c := range rushes(r.bin) {
		d, err := takeRush(ctx, r, c.launch)
		d.Contestant = c.name
		if err == nil && c.right && d.Oversold+d.Twice > 0 {
			err = errors.New("it must make no mistake")
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", strings.TrimSpace(d.String()), err)
		}
		all = append(all, d)
	}
	return all, nil
}

func takeRush(ctx context.Context, r *round, launch []launcher) (d rush, err error) {
	d = rush{Processes: len(launch), Units: rushUnits}
	at, err := r.stores.newPlace(ctx)
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, at.clear(context.WithoutCancel(ctx))) }()
	v := volley{
		crowd: r.crowd, connections: r.plan.connections, presses: rushPresses, most: rushUsers * rushPresses,
		wanted: http.StatusAccepted, other: http.StatusConflict, duration: time.Minute,
	}
	var voucher int64
	for _, l := range launch {
		to, err := l(ctx, at)
		if err != nil {
			return d, err
		}
		defer func() { err = errors.Join(err, to.stop()) }() //nolint:gocritic // there are two
		voucher = max(voucher, to.voucher)
		v.doors = append(v.doors, door{to.addr, []int64{voucher}})
	}
	b, err := v.fire(ctx)
	if err != nil {
		return d, err
	}
	if err = at.awaitRecorded(ctx, b.answered); err != nil {
		return d, err
	}
	if d.Orders, err = at.number(ctx, "SELECT COUNT(*) FROM tb_voucher_order"); err != nil {
		return d, err
	}
	users, err := at.number(ctx, "SELECT COUNT(DISTINCT user_id) FROM tb_voucher_order")
	d.Oversold, d.Twice = max(d.Orders-rushUnits, 0), d.Orders-users
	return d, err
}

// awaitRecorded waits until so many orders are recorded.
func (p *place) awaitRecorded(ctx context.Context, n int64) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		now, err := p.recorded(ctx)
		if err != nil || now == n {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d of %d orders recorded: %w", now, n, ctx.Err())
		case <-time.After(5 * time.Millisecond):
		}
	}
}
