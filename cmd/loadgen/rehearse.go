package main

import (
	"context"
	"fmt"
	"io"
	"time"
)

const (
	pollInterval = 100 * time.Millisecond // between two reads of the voucher
	// openTimeout is how long to wait for a voucher to go on sale.
	openTimeout = 30 * time.Second
	// signalPause is how long a further signal counts as part of the first one.
	signalPause = time.Second
)

// rehearse opens the voucher, runs the load and verifies it. If ctx or the plan's longest time ends first, it stops the
// load and verifies the purchases until then.
func rehearse(ctx context.Context, env environment, p plan) (*report, error) {
	s, err := newService(&p)
	if err != nil {
		return nil, err
	}
	defer s.close()
	before, err := open(ctx, env.err, s, &p)
	if err != nil {
		return nil, err
	}
	r := newRecord(time.Now(), before.Issued)
	l := newLoad(&p, before.ID, r)
	reports := newReporter(ctx, &p, before, l, env.err)
	r.began = time.Now() // the first buyer arrives now
	l.began = r.began
	// A second signal kills the program, unless it belongs to the first one: the terminal signals both this program and
	// its parent, server rehearse, which passes the signal on.
	defer context.AfterFunc(ctx, func() { time.AfterFunc(signalPause, env.stop) })()
	loading, cancel := ctx, context.CancelFunc(func() {})
	if p.longest > 0 {
		loading, cancel = context.WithTimeout(ctx, p.longest)
	}
	defer cancel()
	running := make(chan struct{})
	go func() {
		defer close(running)
		l.run(loading)
	}()
	reported := make(chan struct{})
	go func() {
		defer close(reported)
		reports.run(context.WithoutCancel(ctx), running)
	}()
	display{env.err, env.terminal, l}.run(running)
	<-reported
	interrupted := loading.Err() != nil
	took := time.Since(r.began)
	if ctx.Err() == nil {
		env.stop() // from here on Ctrl-C kills the program
	}
	_, _ = fmt.Fprintln(env.err, "comparing every answer with the service's orders …")
	v := verifier{plan: &p, service: s, record: r, before: before}
	verified, err := v.verify(context.WithoutCancel(ctx))
	if err != nil {
		return nil, err
	}
	out := newReport(&p, before, l, r, took)
	out.Interrupted = interrupted
	out.Report, out.observed = verified, v.observed
	reports.finish(context.WithoutCancel(ctx), verified, interrupted)
	return out, nil
}

// open waits until the voucher is on sale, creating one if necessary, and returns its state before the first purchase.
func open(ctx context.Context, log io.Writer, s *service, p *plan) (voucher, error) {
	id := p.voucher
	if id == 0 {
		var err error
		if id, err = s.create(ctx, p); err != nil {
			return voucher{}, fmt.Errorf("creating a voucher: %w", err)
		}
		_, _ = fmt.Fprintf(log, "created voucher %d with %d units\n", id, p.stock)
	}
	for deadline := time.Now().Add(openTimeout); ; {
		v, err := s.voucher(ctx, id)
		if err != nil {
			return v, err
		}
		wait := pollInterval
		switch v.SaleState {
		case "on_sale":
			return v, nil
		case "not_started":
			// By the service's clock, which decides. The first buyers arrive when the sale begins.
			wait = v.BeginTime.Sub(v.ServerTime)
			_, _ = fmt.Fprintf(log, "the sale begins in %v; waiting\n", wait.Round(time.Second))
			deadline = time.Now().Add(wait + openTimeout)
		default:
			if time.Now().After(deadline) {
				return v, fmt.Errorf("voucher %d is not on sale but %s", id, v.SaleState)
			}
		}
		select {
		case <-ctx.Done():
			return v, ctx.Err()
		case <-time.After(max(wait, pollInterval)):
		}
	}
}
