package versus

import (
	"context"
	"slices"
	"time"

	"seckill/lab/load"
)

// buyers buy from a candidate: each asks once, and the next one takes their connection when they have been answered.
type buyers struct {
	users       load.Users
	next        int64 // whose turn it is, from 0
	connections int
}

// burst is what came of some of them.
type burst struct {
	micros []uint32 // of each answer
	took   time.Duration
}

func (b *burst) answered() int64 { return int64(len(b.micros)) }

// add adds what came of others, later.
func (b *burst) add(more burst) {
	b.micros, b.took = append(b.micros, more.micros...), b.took+more.took
}

// rate is answers a second.
func (b *burst) rate() float64 { return float64(len(b.micros)) / b.took.Seconds() }

// p99 is in milliseconds.
func (b *burst) p99() float64 {
	slices.Sort(b.micros)
	return float64(b.micros[len(b.micros)*99/100]) / 1000
}

// buy lets users buy for some time. All must be answered with the status.
func (b *buyers) buy(ctx context.Context, addr string, voucher int64, status int, d time.Duration) (burst, error) {
	a, err := load.Burst{
		Users: b.users, First: b.next, Endpoints: []load.Endpoint{{Addr: addr, Vouchers: []int64{voucher}}},
		Connections: b.connections, Want: status, Duration: d, Whole: true,
	}.Send(ctx)
	b.next = a.Next
	return burst{a.Micros, a.Ended.Sub(a.Began)}, err
}
