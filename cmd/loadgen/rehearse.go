package main

import (
	"context"
	"fmt"
	"io"
	"time"
)

const (
	poll = 100 * time.Millisecond // between two looks at the voucher
	// opening is how long a voucher that should be on sale may take to get there.
	opening = 30 * time.Second
)

// rehearse does it all: the voucher, the crowd, the verification. When ctx ends it stops the crowd and verifies what was
// done until then.
func rehearse(ctx context.Context, env environment, p plan) (*report, error) {
	s, err := newShop(&p)
	if err != nil {
		return nil, err
	}
	defer s.close()
	before, err := open(ctx, env.err, s, &p)
	if err != nil {
		return nil, err
	}
	r := newRecord(time.Now())
	c := newCrowd(&p, before.ID, r)
	rushing := make(chan struct{})
	go func() {
		defer close(rushing)
		c.rush(ctx)
	}()
	display{env.err, env.terminal, c}.run(rushing)
	interrupted := ctx.Err() != nil
	took := time.Since(r.began)
	if env.stop != nil {
		env.stop() // from here on Ctrl-C ends the program
	}
	_, _ = fmt.Fprintln(env.err, "comparing every answer with what the service says of every order …")
	v := verifier{plan: &p, shop: s, record: r, before: before, gaveUp: interrupted}
	verified, err := v.verify(context.WithoutCancel(ctx))
	if err != nil {
		return nil, err
	}
	out := newReport(&p, before, c, r, took)
	out.Interrupted = interrupted
	out.Report, out.seen = verified, v.seen
	return out, nil
}

// open returns the voucher, on sale, as it was before anybody bought.
func open(ctx context.Context, log io.Writer, s *shop, p *plan) (voucher, error) {
	id := p.voucher
	if id == 0 {
		var err error
		if id, err = s.create(ctx, p); err != nil {
			return voucher{}, fmt.Errorf("creating a voucher: %w", err)
		}
		_, _ = fmt.Fprintf(log, "created voucher %d with %d units\n", id, p.stock)
	}
	for deadline := time.Now().Add(opening); ; {
		v, err := s.voucher(ctx, id)
		if err != nil {
			return v, err
		}
		wait := poll
		switch v.SaleState {
		case "on_sale":
			return v, nil
		case "not_started":
			// By the service's clock, which is what decides; the crowd stands before the door when it opens.
			wait = v.BeginTime.Sub(v.ServerTime)
			_, _ = fmt.Fprintf(log, "the sale begins in %v; waiting\n", wait.Round(time.Second))
			deadline = time.Now().Add(wait + opening)
		default:
			if time.Now().After(deadline) {
				return v, fmt.Errorf("voucher %d is not on sale but %s", id, v.SaleState)
			}
		}
		select {
		case <-ctx.Done():
			return v, ctx.Err()
		case <-time.After(max(wait, poll)):
		}
	}
}
