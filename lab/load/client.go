package load

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"seckill/internal/httpload"
)

// client is one connection of a burst.
type client struct {
	burst              *Burst
	number             int
	began, from, until time.Time
	next               *atomic.Int64 // the number of the next request, over all connections

	want, other int64
	latencies   []uint32 // microseconds, of the measured part
	users       []int64
}

func (c *client) run(ctx context.Context) error {
	err := c.send(ctx)
	if err != nil && c.burst.ServerDies && ctx.Err() == nil {
		c.burst.Counters.Broken.Add(1)
		return nil
	}
	return err
}

// send sends requests, one after the other, until the time or the limit is reached or ctx ends.
func (c *client) send(ctx context.Context) error {
	b := c.burst
	to := b.Endpoints[c.number%len(b.Endpoints)]
	conn, err := connection(to.Addr)
	if err == nil {
		err = conn.Connect(ctx, &net.Dialer{})
	}
	if err != nil {
		return err
	}
	defer conn.Close() // every answer has been read
	paths := make([]string, len(to.Vouchers))
	for i, voucher := range to.Vouchers {
		paths[i] = path(to.Route, voucher, b.Query)
	}
	free := time.Now() // when the connection became idle
	for sent := 0; ; sent++ {
		asked, ok := c.await(ctx, sent, free)
		if !ok {
			return nil
		}
		request := c.next.Add(1) - 1
		if b.Limit > 0 && request-b.First*b.Repeats >= b.Limit {
			return nil
		}
		user := request / b.Repeats
		if b.Get == "" && user >= int64(len(b.Users)) {
			return errTooFewUsers
		}
		r := httpload.Request{Method: http.MethodGet, Path: b.Get}
		if b.Get == "" {
			r = httpload.Request{Method: http.MethodPost, Path: paths[user%int64(len(paths))], Token: b.Users[user]}
		}
		status, err := Ask(ctx, conn, r, b.Want, b.Other)
		if err != nil {
			return fmt.Errorf("user %d: %w", user+1, err)
		}
		free = time.Now()
		c.count(user, status, asked, free)
	}
}

// await returns when the next request is due, and from when its latency counts; false when the time is over. The
// latency of a request that had to wait for the previous answer counts from when it was due: a slow answer must not
// hide the requests that it delayed. If the connection was idle, only the timer is late, and no buyer waited.
func (c *client) await(ctx context.Context, sent int, free time.Time) (asked time.Time, ok bool) {
	if c.burst.Rate == 0 {
		now := time.Now()
		return now, sent == 0 || !now.After(c.until) // at least one request each, however busy the machine
	}
	interval := float64(time.Second) * float64(c.burst.Connections) / c.burst.Rate
	due := c.began.Add(time.Duration((float64(sent) + float64(c.number)/float64(c.burst.Connections)) * interval))
	if due.After(c.until) {
		return due, false
	}
	if free.After(due) {
		return due, true
	}
	select {
	case <-ctx.Done():
	case <-time.After(time.Until(due)):
	}
	return time.Now(), true
}

// count counts an answer.
func (c *client) count(user int64, status int, asked, answered time.Time) {
	if status == c.burst.Want {
		c.want++
		c.burst.Counters.Want.Add(1)
		if c.burst.ListUsers {
			c.users = append(c.users, user+1)
		}
	} else {
		c.other++
		c.burst.Counters.Other.Add(1)
	}
	at := answered
	if c.burst.Rate > 0 {
		at = asked // a slow answer at the end must count
	}
	if at.After(c.from) && (c.burst.Whole || !at.After(c.until)) {
		c.latencies = append(c.latencies, uint32(min(answered.Sub(asked).Microseconds(), 1<<32-1)))
	}
}
