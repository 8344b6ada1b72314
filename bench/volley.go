package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"
)

// door is where a connection knocks.
type door struct {
	addr     string
	vouchers []int64 // one user after the other asks for another of them
}

// volley is one rush of a crowd: prepared bytes are written and answers read with next to no work of its own, because
// the crowd shares the machine with what it measures.
type volley struct {
	crowd       crowd
	doors       []door // connections take turns among them
	connections int
	first       int64  // users before this one (counted from 0) stay at home
	presses     int64  // how often each user asks, on several connections at the same time; 0 is once
	query       string // behind the address, with its question mark
	wanted      int    // the status that is counted
	other       int    // the only other one that may come; 0 for none
	warmUp      time.Duration
	duration    time.Duration // measured, after the warm-up
	most        int64         // requests after which it ends before its time; 0 for no limit
	pace        float64       // requests a second, of all connections; 0: each asks again when it has been answered
	// dies says that the contestant will be killed: a connection that breaks has seen its end, and that is no error.
	dies bool
	// remembers says that those who got the wanted status are listed.
	remembers bool
	// meter counts answers while they come, for who watches.
	meter *meter
}

// meter is how far a volley has come.
type meter struct{ wanted, other, broken atomic.Int64 }

// burst is what a volley came to.
type burst struct {
	next     int64         // the first user, counted from 0, who surely has not asked
	answered int64         // answers with the wanted status, in all
	refused  int64         // answers with the other one
	rate     float64       // answers per second of the measured part
	p50, p99 time.Duration // latency in the measured part
	began    time.Time     // warm-up included
	ended    time.Time     // when the last answer had come
	users    []int64       // who got the wanted status, if that was remembered
}

// fire sends the volley's purchases and returns when all of them are answered.
func (v volley) fire(ctx context.Context) (burst, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	b := burst{began: time.Now()}
	from := b.began.Add(v.warmUp)
	until := from.Add(v.duration)
	if v.meter == nil {
		v.meter = &meter{}
	}
	v.presses = max(v.presses, 1)
	var next atomic.Int64
	next.Store(v.first * v.presses)
	shooters := make([]*shooter, v.connections)
	errs := make(chan error, len(shooters))
	for i := range shooters {
		shooters[i] = &shooter{volley: &v, number: i, began: b.began, from: from, until: until, next: &next}
		go func() {
			err := shooters[i].run(ctx)
			if err != nil {
				cancel()
			}
			errs <- err
		}()
	}
	var err error
	for range shooters {
		if e := <-errs; e != nil && (err == nil || errors.Is(err, context.Canceled)) {
			err = e
		}
	}
	if err != nil {
		return burst{}, err
	}
	b.ended = time.Now()
	b.next = (next.Load() + v.presses - 1) / v.presses
	err = b.sum(shooters, from, until)
	return b, err
}

// sum adds up what the connections saw.
func (b *burst) sum(shooters []*shooter, from, until time.Time) error {
	latencies := make([][]uint32, 0, len(shooters))
	for _, s := range shooters {
		b.answered += s.answered
		b.refused += s.refused
		b.users = append(b.users, s.users...)
		latencies = append(latencies, s.latencies)
	}
	all := slices.Concat(latencies...)
	switch {
	case b.answered+b.refused == 0:
		return errors.New("no purchase was answered")
	case len(all) == 0: // the measured time was too short: its figures stay zero, and show
		return nil
	}
	if b.ended.Before(until) {
		until = b.ended
	}
	b.rate = float64(len(all)) / until.Sub(from).Seconds()
	b.p50, b.p99 = percentile(all, 0.50), percentile(all, 0.99)
	return nil
}

// errTired says that the crowd is too small for the contestant.
var errTired = fmt.Errorf("faster than %d requests a second: more tokens are needed", fastest)
