package box

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"seckill/internal/checker"
)

// Buyers are the buyers of one sale: they buy from the servers of a site and record the answers.
type Buyers struct {
	client  *Client
	servers []*Server
	Voucher int64
	Record  *Record
	Query   string // for example "wait=2s"
	Units   int64  // units per request; 0: one, without the parameter
	// Pick returns the server for the i-th attempt; nil: the servers in turn.
	Pick func(i int) *Server
}

// Buy sends one purchase of a user to one server.
func (b *Buyers) Buy(ctx context.Context, s *Server, user int64) checker.Answer {
	a := checker.Answer{User: user, Voucher: b.Voucher, Units: b.Units, Server: s.Name, Sent: time.Now()}
	url := s.URL("/voucher/seckill/" + strconv.FormatInt(b.Voucher, 10))
	query := b.Query
	if b.Units > 0 {
		query = strings.Trim(fmt.Sprintf("%s&quantity=%d", query, b.Units), "&")
	}
	if query != "" {
		url += "?" + query
	}
	r, err := b.client.Do(ctx, Request{Method: http.MethodPost, URL: url, Token: BuyerToken(user)})
	a.Received = time.Now()
	if err != nil {
		a.Code = err.Error()
	} else {
		a = classify(a, r)
	}
	b.Record.Add(a)
	return a
}

// classify fills in what the reply means for the buyer. A reply that it does not recognize is Unknown.
func classify(a checker.Answer, r Reply) checker.Answer {
	a.Code = fmt.Sprintf("%d %.200s", r.StatusCode, r.Body)
	switch {
	case r.StatusCode == http.StatusAccepted || r.StatusCode == http.StatusCreated:
		return withOrder(a, checker.Accepted, r)
	case r.Code == "ALREADY_BOUGHT" && r.StatusCode == http.StatusConflict:
		return withOrder(a, checker.Held, r)
	case r.Code == "UNAVAILABLE" || r.Code == "PAUSED" || r.Code == "RATE_LIMITED":
		a.Outcome, a.Code = checker.Later, r.Code
	case r.Code == "UNKNOWN_OUTCOME" || r.Code == "INTERNAL" || r.Code == "":
	default:
		a.Outcome, a.Code = checker.Refused, r.Code
	}
	return a
}

// withOrder adds the order id of a reply that must have one; without an id the answer stays Unknown.
func withOrder(a checker.Answer, o checker.Outcome, r Reply) checker.Answer {
	var placed Placed
	if r.Success == nil || *r.Success != (o == checker.Accepted) || unmarshal(r.Data, &placed) != nil {
		return a
	}
	id, err := strconv.ParseInt(placed.OrderID, 10, 64)
	if err != nil || id <= 0 || strconv.FormatInt(id, 10) != placed.OrderID {
		return a
	}
	a.Outcome, a.Order, a.Units, a.Code = o, id, placed.Quantity, ""
	return a
}

// BuyUntilAnswered repeats a purchase at the next server until there is an outcome, as the service tells clients to do.
func (b *Buyers) BuyUntilAnswered(ctx context.Context, user int64) checker.Answer {
	pause := 5 * time.Millisecond
	for i := int(user); ; i++ {
		s := b.servers[i%len(b.servers)]
		if b.Pick != nil && ctx.Err() == nil { // it may wait for a server that is ready
			s = b.Pick(i)
		}
		a := b.Buy(ctx, s, user)
		if a.Outcome != checker.Unknown && a.Outcome != checker.Later {
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

// BuyAll lets all users buy until answered, with the given number of concurrent clients. It gives up once nobody has
// been answered for [Patience]: how long the whole takes depends on the machine.
func (b *Buyers) BuyAll(ctx context.Context, clients int, users []int64) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	silence := time.AfterFunc(Patience, cancel)
	defer silence.Stop()
	queue := make(chan int64)
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			for user := range queue {
				b.BuyUntilAnswered(ctx, user)
				if ctx.Err() == nil {
					silence.Reset(Patience)
				}
			}
		})
	}
	for _, user := range users {
		queue <- user
	}
	close(queue)
	wg.Wait()
}

// Users returns n users, numbered from first.
func Users(first int64, n int) []int64 {
	users := make([]int64, n)
	for i := range users {
		users[i] = first + int64(i)
	}
	return users
}
