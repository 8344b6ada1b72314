package load

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"
)

// Endpoint is where a connection sends its requests.
type Endpoint struct {
	Addr     string
	Route    string  // before the voucher's number; "": /voucher/seckill/
	Vouchers []int64 // users ask for them in turn
}

// Burst is load: purchases of many users, or readers of one page, over connections that stay open.
type Burst struct {
	Users       Users
	Endpoints   []Endpoint // connections are spread over them
	Connections int
	First       int64  // users before this one (counted from 0) send nothing
	Repeats     int64  // requests of each user, on several connections at the same time; 0 means one
	Query       string // follows the path, including its question mark
	Get         string // a path to read instead, without a token; "" for purchases
	Want        int    // the status to count
	Other       int    // the only other status allowed; 0 for none
	WarmUp      time.Duration
	Duration    time.Duration // measured, after the warm-up
	// Whole measures requests that are under way at the end of Duration, too.
	Whole bool
	Limit int64   // requests after which it ends early; 0 for no limit
	Rate  float64 // requests per second, over all connections; 0: each sends its next when it has its answer
	// ServerDies says that the server will be killed: broken connections are counted, and are no error.
	ServerDies bool
	// ListUsers lists the users who got the wanted status.
	ListUsers bool
	// Counters, if set, are updated while answers come.
	Counters *Counters
}

// Counters show the progress of a burst: answers with the wanted and with the other status, and broken connections.
type Counters struct{ Want, Other, Broken atomic.Int64 }

// Answers is the result of a burst.
type Answers struct {
	Next     int64         // the first user, counted from 0, who has certainly not asked
	Want     int64         // answers with the wanted status, warm-up included
	Other    int64         // answers with the other status
	Rate     float64       // answers per second in the measured part
	P50, P99 time.Duration // latency in the measured part
	Micros   []uint32      // each latency in the measured part, sorted
	Began    time.Time     // warm-up included
	Ended    time.Time     // when the last answer had come
	Users    []int64       // users who got the wanted status, if ListUsers is set
}

// MaxRate is more requests per second than two cores can answer; this many tokens are signed per second of load.
const MaxRate = 120_000

// errTooFewUsers says that there are not enough users for so fast a server.
var errTooFewUsers = fmt.Errorf("faster than %d requests a second: more tokens are needed", MaxRate)

// Send sends the requests and returns when all of them are answered.
func (b Burst) Send(ctx context.Context) (Answers, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	a := Answers{Began: time.Now()}
	from := a.Began.Add(b.WarmUp)
	until := from.Add(b.Duration)
	if b.Counters == nil {
		b.Counters = &Counters{}
	}
	b.Repeats = max(b.Repeats, 1)
	var next atomic.Int64
	next.Store(b.First * b.Repeats)
	clients := make([]*client, b.Connections)
	errs := make(chan error, len(clients))
	for i := range clients {
		clients[i] = &client{burst: &b, number: i, began: a.Began, from: from, until: until, next: &next}
		go func() {
			err := clients[i].run(ctx)
			if err != nil {
				cancel()
			}
			errs <- err
		}()
	}
	var err error
	for range clients {
		if e := <-errs; e != nil && (err == nil || errors.Is(err, context.Canceled)) {
			err = e
		}
	}
	if err != nil {
		return Answers{}, err
	}
	a.Ended = time.Now()
	a.Next = (next.Load() + b.Repeats - 1) / b.Repeats
	err = a.sum(clients, from, until, b.Whole)
	return a, err
}

// sum adds up the connections' results.
func (a *Answers) sum(clients []*client, from, until time.Time, whole bool) error {
	latencies := make([][]uint32, 0, len(clients))
	for _, c := range clients {
		a.Want += c.want
		a.Other += c.other
		a.Users = append(a.Users, c.users...)
		latencies = append(latencies, c.latencies)
	}
	all := slices.Concat(latencies...)
	switch {
	case a.Want+a.Other == 0:
		return errors.New("no request was answered")
	case len(all) == 0: // the measured time was too short: the figures stay zero, which shows it
		return nil
	}
	if whole || a.Ended.Before(until) {
		until = a.Ended
	}
	a.Rate = float64(len(all)) / until.Sub(from).Seconds()
	a.P50, a.P99, a.Micros = Percentile(all, 0.50), Percentile(all, 0.99), all
	return nil
}

// Percentile returns the latency below which the share q of all latencies is. It sorts them.
func Percentile(micros []uint32, q float64) time.Duration {
	slices.Sort(micros)
	i := int(math.Ceil(q*float64(len(micros)))) - 1
	return time.Duration(micros[max(i, 0)]) * time.Microsecond
}
