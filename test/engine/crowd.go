package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// A crowd's shape: more buyers wait than are answered while something is broken, so that the sale goes on at once.
const (
	crowdRate    = 60 // buyers a second
	crowdWorkers = 48
	crowdWithin  = 10 * time.Minute
)

// firstBuyer is the user id of the first buyer of all crowds.
const firstBuyer = 1_000_000

// result is the outcome of a sale.
type result struct {
	name     string
	units    int
	accepted int
	recorded int
	lost     int           // accepted and not recorded
	gap      time.Duration // the longest time without an acceptance
	took     time.Duration
	err      error
}

// crowd buys all units of a sale, each buyer one, and keeps asking until there is an answer.
type crowd struct {
	shop    *shop
	voucher int64
	units   int
	user    *atomic.Int64

	mu     sync.Mutex
	told   map[string]int64 // orders that buyers were told, with the buyer
	last   time.Time        // of the last acceptance
	gap    time.Duration
	answer map[string]int // how often each answer came
	over   bool
}

// run buys until all units are sold. reached is closed once a third of them is.
func (c *crowd) run(ctx context.Context, reached chan<- struct{}) error {
	ctx, cancel := context.WithTimeout(ctx, crowdWithin)
	defer cancel()
	c.told, c.answer, c.last = map[string]int64{}, map[string]int{}, time.Now()
	turns := make(chan struct{})
	var workers sync.WaitGroup
	for range crowdWorkers {
		workers.Go(func() {
			for range turns {
				c.buy(ctx, c.user.Add(1), reached)
			}
		})
	}
	tick := time.NewTicker(time.Second / crowdRate)
	defer tick.Stop()
	for ctx.Err() == nil && !c.isOver() {
		<-tick.C
		select {
		case turns <- struct{}{}:
		default: // all are waiting for an answer
		}
	}
	close(turns)
	workers.Wait()
	if !c.isOver() {
		return fmt.Errorf("after %v %d of %d units are sold; answers: %v", crowdWithin, len(c.told), c.units, c.answer)
	}
	return ctx.Err()
}

func (c *crowd) isOver() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.over
}

// buy repeats the purchase until there is a final answer.
func (c *crowd) buy(ctx context.Context, user int64, reached chan<- struct{}) {
	token := c.shop.buyer(user)
	for ctx.Err() == nil {
		a, err := c.shop.ask(ctx, http.MethodPost, fmt.Sprintf("/voucher/seckill/%d", c.voucher), token, nil)
		if c.count(a, err, user, reached) {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// count records an answer and reports whether it is final.
func (c *crowd) count(a answer, err error, user int64, reached chan<- struct{}) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	kind := fmt.Sprintf("%d %s", a.status, a.Code)
	if err != nil {
		kind = "none"
	}
	c.answer[kind]++
	switch {
	case err != nil:
		return false
	case a.status == http.StatusAccepted, a.status == http.StatusCreated, a.Code == "ALREADY_BOUGHT":
		var o order
		if err := json.Unmarshal(a.Data, &o); err != nil || o.OrderID == "" {
			return false
		}
		now := time.Now()
		c.gap, c.last = max(c.gap, now.Sub(c.last)), now
		c.told[o.OrderID] = user
		if len(c.told) == c.units/3 {
			close(reached)
		}
		return true
	case a.Code == "SOLD_OUT":
		c.over = true
		return true
	}
	return false
}

// sell runs a sale of the given units, calls breaks during it, and compares the buyers' answers with the ledger.
func sell(
	ctx context.Context, s *shop, users *atomic.Int64, name string, units int,
	breaks func(ctx context.Context) error,
) result {
	r := result{name: name, units: units}
	start := time.Now()
	c := &crowd{shop: s, units: units, user: users}
	if c.voucher, r.err = s.sale(ctx, units); r.err != nil {
		return r
	}
	reached, sold := make(chan struct{}), make(chan error, 1)
	go func() { sold <- c.run(ctx, reached) }()
	var broken error
	select {
	case <-reached:
		broken = breaks(ctx)
	case err := <-sold:
		sold <- err
	}
	if r.err = <-sold; r.err == nil {
		r.err = broken
	}
	r.accepted, r.gap = len(c.told), c.gap
	if r.err != nil {
		return r
	}
	r.err = eventually(ctx, 3*time.Minute, func(ctx context.Context) error {
		rows, err := s.recorded(ctx, c.voucher)
		if err != nil {
			return err
		}
		r.recorded, r.lost = len(rows), 0
		for id := range c.told {
			if !rows[id] {
				r.lost++
			}
		}
		if r.lost > 0 || r.recorded != units || r.accepted != units {
			return fmt.Errorf("%d units, %d orders told, %d recorded, "+
				"%d of those that were told are missing; answers: %v", units, r.accepted, r.recorded, r.lost, c.answer)
		}
		return nil
	})
	r.took = time.Since(start)
	return r
}
