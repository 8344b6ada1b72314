package measures

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"seckill/lab/bench/audit"
	"seckill/lab/bench/candidate"
	"seckill/lab/bench/result"
	"seckill/lab/load"
	"seckill/lab/rig"
)

const (
	wholeProcess = "the process"
	onlyWriter   = "its writer"
)

// victim is a candidate that is killed.
type victim struct {
	name    string
	killed  string
	queue   audit.Queue   // where its orders wait
	sell    launcher      // starts it, with a voucher on sale
	write   launcher      // starts the writer, if it is a separate process
	restart launcher      // starts the killed process again
	timeout time.Duration // how long that process has to find the remaining orders
	exact   bool          // it must lose nothing
}

// victims returns the candidates with a queue, and the service. With a queue in Redis, only the writer is killed.
func (b *Bench) victims() []victim {
	memory := b.stage("memory")
	all := []victim{{
		name: candidate.Memory, killed: wholeProcess, timeout: time.Second,
		sell: func(ctx context.Context, at *rig.Namespace) (*rig.Server, error) {
			return memory.Start(ctx, at, rig.Unlimited)
		},
		restart: func(ctx context.Context, at *rig.Namespace) (*rig.Server, error) {
			return memory.Launch(ctx, at, "-join")
		},
	}}
	for _, q := range []struct {
		name  string
		stage string
		queue audit.Queue
	}{
		{candidate.List, "list", audit.ListQueue},
		{candidate.Pubsub, "pubsub", audit.PubsubQueue},
		{candidate.Stream, "stream", audit.StreamQueue},
	} {
		write := func(ctx context.Context, at *rig.Namespace) (*rig.Server, error) {
			return b.stage(q.stage).Launch(ctx, at, "-join", "-sell=false")
		}
		all = append(all, victim{
			name: q.name, killed: onlyWriter, queue: q.queue, timeout: time.Second, exact: q.queue == audit.StreamQueue,
			sell: func(ctx context.Context, at *rig.Namespace) (*rig.Server, error) {
				return b.stage(q.stage).Launch(ctx, at, "-record=false", "-stock", strconv.Itoa(rig.Unlimited))
			},
			write: write, restart: write,
		})
	}
	service := b.service()
	return append(all, victim{
		// Another instance takes its orders over once the killed one's heartbeat has stopped for a while.
		name: candidate.Service, killed: wholeProcess, queue: audit.ServiceQueue, timeout: time.Minute, exact: true,
		sell: func(ctx context.Context, at *rig.Namespace) (*rig.Server, error) {
			return service.Start(ctx, at, rig.Unlimited)
		},
		restart: func(ctx context.Context, at *rig.Namespace) (*rig.Server, error) {
			return service.Launch(ctx, at, "bench")
		},
	})
}

// crashes kills each victim once.
func (b *Bench) crashes(ctx context.Context) ([]result.Crash, error) {
	var all []result.Crash
	for _, v := range b.victims() {
		var c result.Crash
		err := b.inNamespace(ctx, func(at *rig.Namespace) (err error) { c, err = b.crash(ctx, at, v); return err })
		c.Candidate, c.Killed = v.name, v.killed
		if err == nil && v.exact && c.Lost > 0 {
			err = errors.New("it must lose nothing")
		}
		text := fmt.Sprintf("%-48s %s killed: %d accepted, %d recorded, %d waiting, %d lost",
			c.Candidate, c.Killed, c.Accepted, c.Recorded, c.Queued, c.Lost)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
		fmt.Fprintln(b.progress, text)
		all = append(all, c)
	}
	return all, nil
}

func (b *Bench) crash(ctx context.Context, at *rig.Namespace, v victim) (c result.Crash, err error) {
	server, err := v.sell(ctx, at)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	killed := server
	if v.write != nil {
		if killed, err = v.write(ctx, at); err != nil {
			return c, err
		}
		defer func() { err = errors.Join(err, killed.Stop()) }()
	}
	answers, err := b.sendAndKill(ctx, at, server, killed)
	if err != nil {
		return c, err
	}
	again, err := v.restart(ctx, at)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, again.Stop()) }()
	for began := time.Now(); time.Since(began) < v.timeout && ctx.Err() == nil; {
		if c, err = audit.Find(ctx, at, answers.Users, v.queue); err != nil || c.Recorded == c.Accepted {
			break
		}
		time.Sleep(100 * time.Millisecond) // nothing signals the end
	}
	// It finishes the order that it has begun, which would be in neither store if counted before.
	if err = errors.Join(err, again.Stop()); err != nil {
		return c, err
	}
	return audit.Find(ctx, at, answers.Users, v.queue)
}

// sendAndKill sends load and kills a process in the middle of it, while it holds orders that are not committed: the
// sale's row is locked at that moment.
func (b *Bench) sendAndKill(
	ctx context.Context, at *rig.Namespace, server, killed *rig.Server,
) (answers load.Answers, err error) {
	burst := b.burst(server, b.plan.Duration/2)
	burst.ServerDies, burst.ListUsers = true, true
	var group errgroup.Group
	group.Go(func() (err error) { answers, err = burst.Send(ctx); return err })
	group.Go(func() error {
		middle := time.After(burst.WarmUp + burst.Duration/2)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-middle:
		}
		release, err := at.LockSale(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = release() }() // nothing was written
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond): // until the writer waits for the locked row
		}
		killed.Kill()
		return nil
	})
	err = group.Wait()
	return answers, err
}
