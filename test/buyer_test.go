package test

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"seckill/internal/checker"
)

// crowd is the buyers of one sale: they press the button at the servers of a site and write down what they are told.
type crowd struct {
	client  *client
	servers []*server
	voucher int64
	record  *record
	query   string // for example "wait=2s"
	// pick returns the server of the i-th attempt; nil: one after the other.
	pick   func(i int) *server
	faults sync.Mutex
}

// buy is one attempt of one user at one server.
func (c *crowd) buy(ctx context.Context, s *server, user int64) answer {
	a := answer{user: user, server: s.name, asked: time.Now()}
	url := s.url("/voucher/seckill/" + strconv.FormatInt(c.voucher, 10))
	if c.query != "" {
		url += "?" + c.query
	}
	r, err := c.client.do(ctx, request{method: http.MethodPost, url: url, token: buyerToken(user)})
	a.told = time.Now()
	if err != nil {
		a.code = err.Error()
	} else {
		a = a.judged(r)
	}
	c.record.add(a)
	return a
}

// judged returns the answer with what it means for the buyer. Whatever it does not understand is unknown.
func (a answer) judged(r reply) answer {
	a.code = fmt.Sprintf("%d %.200s", r.status, r.body)
	switch {
	case r.status == http.StatusAccepted || r.status == http.StatusCreated:
		return a.named(accepted, r)
	case r.Code == "ALREADY_BOUGHT" && r.status == http.StatusConflict:
		return a.named(held, r)
	case r.Code == "UNAVAILABLE" || r.Code == "PAUSED" || r.Code == "RATE_LIMITED":
		a.verdict, a.code = later, r.Code
	case r.Code == "UNKNOWN_OUTCOME" || r.Code == "INTERNAL" || r.Code == "":
	default:
		a.verdict, a.code = refused, r.Code
	}
	return a
}

// named takes the order id from an answer that has to name one.
func (a answer) named(v checker.Verdict, r reply) answer {
	var placed placedJSON
	if r.Success == nil || *r.Success != (v == accepted) || unmarshal(r.Data, &placed) != nil {
		return a
	}
	id, err := strconv.ParseInt(placed.OrderID, 10, 64)
	if err != nil || id <= 0 || strconv.FormatInt(id, 10) != placed.OrderID {
		return a
	}
	a.verdict, a.order, a.code = v, id, ""
	return a
}

// insist asks until the user knows: an attempt without an outcome is repeated at the next server, which is what the
// service's answers tell clients to do.
func (c *crowd) insist(ctx context.Context, user int64) answer {
	pause := 5 * time.Millisecond
	for i := int(user); ; i++ {
		s := c.servers[i%len(c.servers)]
		if c.pick != nil {
			s = c.pick(i)
		}
		a := c.buy(ctx, s, user)
		if a.verdict != unknown && a.verdict != later {
			return a
		}
		select {
		case <-ctx.Done():
			return a
		case <-time.After(pause):
		}
		pause = min(2*pause, 250*time.Millisecond)
	}
}

// rush lets all users insist, so many at a time, and returns when each of them knows or patience is at its end.
func (c *crowd) rush(ctx context.Context, workers int, users []int64) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	queue := make(chan int64)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for user := range queue {
				c.insist(ctx, user)
			}
		})
	}
	for _, user := range users {
		queue <- user
	}
	close(queue)
	wg.Wait()
}

// people returns n users, numbered from first.
func people(first int64, n int) []int64 {
	users := make([]int64, n)
	for i := range users {
		users[i] = first + int64(i)
	}
	return users
}
