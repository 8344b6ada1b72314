package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
)

// crash is what became of accepted orders when a process was killed with SIGKILL in the middle of a sale, and started
// again.
type crash struct {
	Contestant string `json:"contestant"`
	Killed     string `json:"killed"`   // what was killed
	Accepted   int64  `json:"accepted"` // buyers who were told that they have an order
	Recorded   int64  `json:"recorded"` // of them: the row is there
	Waiting    int64  `json:"waiting"`  // of them: no row, but still queued
	Lost       int64  `json:"lost"`     // of them: neither
}

func (d crash) String() string {
	return fmt.Sprintf("%-48s %s killed: %d accepted, %d recorded, %d waiting, %d lost",
		d.Contestant, d.Killed, d.Accepted, d.Recorded, d.Waiting, d.Lost)
}

const (
	wholeProcess = "the process"
	onlyWriter   = "its writer"
)

// victim is who is killed.
type victim struct {
	name     string
	killed   string
	queue    string        // where its orders wait, as place.queued knows it
	sell     launcher      // starts it, with a voucher on sale
	write    launcher      // starts the writer, where it is a process of its own
	again    launcher      // starts what was killed again
	patience time.Duration // how long that one is given to find what is left
	exact    bool          // it must lose nothing
}

// victims are those with a queue, and the service. Of those with a queue in Redis only the writer is killed.
func victims(b binaries) []victim {
	svc, memory := service{b}, stage{b, "memory"}
	all := []victim{{
		name: memoryName, killed: wholeProcess, patience: time.Second,
		sell:  func(ctx context.Context, at *place) (*target, error) { return memory.start(ctx, at, unlimited) },
		again: func(ctx context.Context, at *place) (*target, error) { return memory.launch(ctx, at, "-join") },
	}}
	for _, q := range []stage{{b, "list"}, {b, "pubsub"}, {b, "stream"}} {
		writer := func(ctx context.Context, at *place) (*target, error) {
			return q.launch(ctx, at, "-join", "-sell=false")
		}
		all = append(all, victim{
			name:   map[string]string{"list": listName, "pubsub": pubsubName, "stream": streamName}[q.name],
			killed: onlyWriter, queue: q.name, patience: time.Second, exact: q.name == "stream",
			sell: func(ctx context.Context, at *place) (*target, error) {
				return q.launch(ctx, at, "-record=false", "-stock", strconv.Itoa(unlimited))
			},
			write: writer, again: writer,
		})
	}
	return append(all, victim{
		// Its orders are taken over once the killed one's heartbeat has stopped for a while.
		name: serviceName, killed: wholeProcess, queue: "service", patience: time.Minute, exact: true,
		sell:  func(ctx context.Context, at *place) (*target, error) { return svc.start(ctx, at, unlimited) },
		again: func(ctx context.Context, at *place) (*target, error) { return svc.launch(ctx, at, "bench") },
	})
}

// takeCrashes kills each of them, once.
func takeCrashes(ctx context.Context, r *round) ([]crash, error) {
	var all []crash
	for _, c := range victims(r.bin) {
		d, err := takeCrash(ctx, r, c)
		d.Contestant, d.Killed = c.name, c.killed
		if err == nil && c.exact && d.Lost > 0 {
			err = errors.New("it must lose nothing")
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", d, err)
		}
		all = append(all, d)
	}
	return all, nil
}

func takeCrash(ctx context.Context, r *round, c victim) (d crash, err error) {
	at, err := r.stores.newPlace(ctx)
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, at.clear(context.WithoutCancel(ctx))) }()
	to, err := c.sell(ctx, at)
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, to.stop()) }()
	killed := to
	if c.write != nil {
		if killed, err = c.write(ctx, at); err != nil {
			return d, err
		}
		defer func() { err = errors.Join(err, killed.stop()) }()
	}
	b, err := rushAndKill(ctx, r, at, to, killed)
	if err != nil {
		return d, err
	}
	again, err := c.again(ctx, at)
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, again.stop()) }()
	for began := time.Now(); time.Since(began) < c.patience && ctx.Err() == nil; {
		if d, err = at.fate(ctx, b.users, c.queue); err != nil || d.Recorded == d.Accepted {
			break
		}
		time.Sleep(100 * time.Millisecond) // there is nothing to be told by
	}
	// It finishes what it has in hand: counted before, that would be in neither place.
	if err = errors.Join(err, again.stop()); err != nil {
		return d, err
	}
	return at.fate(ctx, b.users, c.queue)
}

// rushAndKill lets the crowd in and kills a process in the middle of it, while it has taken orders that are not
// committed: the sale's row is locked at that moment.
func rushAndKill(ctx context.Context, r *round, at *place, to, killed *target) (burst, error) {
	v := r.volley(to, r.plan.duration/2)
	v.dies, v.remembers = true, true
	var b burst
	var group errgroup.Group
	group.Go(func() (err error) { b, err = v.fire(ctx); return err })
	group.Go(func() error {
		wait := time.After(v.warmUp + v.duration/2)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-wait:
		}
		release, err := at.hold(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = release() }() // nothing was written
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond): // so that whoever records has come to the locked row
		}
		killed.kill()
		return nil
	})
	return b, group.Wait()
}

// fate looks for the accepted users' orders.
func (p *place) fate(ctx context.Context, accepted []int64, queue string) (crash, error) {
	waiting, err := p.queued(ctx, queue)
	if err != nil {
		return crash{}, err
	}
	recorded, err := p.users(ctx)
	if err != nil {
		return crash{}, err
	}
	return settle(accepted, recorded, waiting), nil
}

// settle sorts accepted users by what became of their orders.
func settle(accepted, recorded, waiting []int64) (d crash) {
	const inQueue, inTable = 1, 2
	found := make(map[int64]int, len(recorded)+len(waiting))
	for _, user := range waiting {
		found[user] = inQueue
	}
	for _, user := range recorded {
		found[user] = inTable
	}
	d.Accepted = int64(len(accepted))
	for _, user := range accepted {
		switch found[user] {
		case inTable:
			d.Recorded++
		case inQueue:
			d.Waiting++
		default:
			d.Lost++
		}
	}
	return d
}
