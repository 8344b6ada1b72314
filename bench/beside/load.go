package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"seckill/internal/httpload"
)

// answerTimeout bounds one purchase: longer than any service should take.
const answerTimeout = 30 * time.Second

// candidate is one of the two services in one round.
type candidate struct {
	url      *url.URL
	request  func(user int64) (r httpload.Request, ok bool) // false: there are no more users
	accepted func(httpload.Answer) bool
	rows     func(context.Context) (int64, error) // nil: not counted
	time     func() time.Duration                 // of its processes; nil: not known
}

// sample is what one of them did in one round.
type sample struct {
	accepted, refused int64 // warm-up included
	refusal           string
	rate              float64 // accepted a second
	p50, p99          float64 // of all answers, in milliseconds
	meanwhile         float64 // recorded a second while the load lasted
	missing           int64   // accepted without a row, once settled; negative: more rows than were accepted
	processor         float64 // microseconds of its processes for each acceptance, recording included
}

// errFewTokens says that the users did not suffice.
var errFewTokens = errors.New("the users were used up before the measured time began: more tokens, or a shorter -warmup")

// measure loads the service, and waits for the rows.
func (c candidate) measure(ctx context.Context, p plan) (s sample, err error) {
	var before int64
	if c.rows != nil {
		if before, err = c.rows(ctx); err != nil {
			return s, err
		}
	}
	spent := c.spent()
	began := time.Now()
	if err = c.load(ctx, p, &s); err != nil {
		return s, err
	}
	took := time.Since(began)
	if c.rows != nil {
		rows, err := c.rows(ctx)
		if err != nil {
			return s, err
		}
		s.meanwhile = float64(rows-before) / took.Seconds()
		if s.missing, err = c.settled(ctx, before+s.accepted, p.settle); err != nil {
			return s, err
		}
	}
	if now := c.spent(); now > spent && s.accepted > 0 {
		s.processor = float64((now - spent).Microseconds()) / float64(s.accepted)
	}
	return s, nil
}

func (c candidate) spent() time.Duration {
	if c.time == nil {
		return 0
	}
	return c.time()
}

// settled waits until there are so many rows, and returns how many are missing.
func (c candidate) settled(ctx context.Context, want int64, within time.Duration) (missing int64, err error) {
	for end := time.Now().Add(within); ; {
		rows, err := c.rows(ctx)
		if err != nil || rows >= want || time.Now().After(end) {
			return want - rows, err
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// buyer is one connection: users ask on it one after the other.
type buyer struct {
	accepted, refused int64
	refusal           string
	counted           int64           // acceptances in the measured time
	latencies         []time.Duration // of answers in the measured time
	last              time.Time       // when the last of them came
}

// load lets users buy for the plan's time, or until there are no more of them.
func (c candidate) load(ctx context.Context, p plan, s *sample) error {
	from := time.Now().Add(p.warmUp)
	until := from.Add(p.duration)
	var next atomic.Int64
	buyers := make([]buyer, p.connections)
	group, ctx := errgroup.WithContext(ctx)
	for i := range buyers {
		group.Go(func() error { return c.buy(ctx, &next, from, until, &buyers[i]) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	var counted int64
	var latencies []time.Duration
	last := from
	for _, b := range buyers {
		s.accepted, s.refused, counted = s.accepted+b.accepted, s.refused+b.refused, counted+b.counted
		latencies = append(latencies, b.latencies...)
		if b.refusal != "" {
			s.refusal = b.refusal
		}
		if b.last.After(last) {
			last = b.last
		}
	}
	if len(latencies) == 0 {
		return errFewTokens
	}
	slices.Sort(latencies)
	s.rate = float64(counted) / max(last.Sub(from), time.Millisecond).Seconds()
	s.p50, s.p99 = quantile(latencies, 0.5), quantile(latencies, 0.99)
	return nil
}

func (c candidate) buy(ctx context.Context, next *atomic.Int64, from, until time.Time, b *buyer) error {
	conn, err := httpload.New(c.url, answerTimeout)
	if err != nil {
		return err
	}
	defer conn.Close()
	for asked := time.Now(); asked.Before(until) && ctx.Err() == nil; asked = time.Now() {
		request, ok := c.request(next.Add(1) - 1)
		if !ok {
			return nil
		}
		a, err := conn.Do(ctx, request)
		if err != nil {
			return fmt.Errorf("%s %s%s: %w", request.Method, c.url, request.Path, err)
		}
		accepted := c.accepted(a)
		if accepted {
			b.accepted++
		} else {
			b.refused++
			b.refusal = fmt.Sprintf("%d %s", a.Status, bytes.ToValidUTF8(a.Body[:min(len(a.Body), 200)], nil))
		}
		if asked.After(from) {
			b.last = time.Now()
			b.latencies = append(b.latencies, b.last.Sub(asked))
			if accepted {
				b.counted++
			}
		}
	}
	return ctx.Err()
}

// quantile of sorted latencies, in milliseconds.
func quantile(sorted []time.Duration, q float64) float64 {
	return float64(sorted[int(q*float64(len(sorted)-1))].Microseconds()) / 1000
}

// other is the other service in a round, which has its own part of the tokens.
func (p plan) other(round int) candidate {
	each := len(p.tokens) / p.rounds
	tokens := p.tokens[round*each : (round+1)*each]
	return candidate{
		url: p.url,
		request: func(user int64) (httpload.Request, bool) {
			if user >= int64(len(tokens)) {
				return httpload.Request{}, false
			}
			fill := func(text string) string { return strings.ReplaceAll(text, "{token}", tokens[user]) }
			r := httpload.Request{Method: p.method, Path: p.route, Header: fill(p.header) + "\r\n"}
			if p.body != "" {
				r.Body = []byte(fill(p.body))
			}
			return r, true
		},
		accepted: func(a httpload.Answer) bool {
			return slices.Contains(p.statuses, a.Status) && bytes.Contains(a.Body, []byte(p.accepted))
		},
	}
}
