package versus

import (
	"context"
	"slices"
	"time"

	"seckill/lab/load"
)

// buyers buy from a candidate: each asks once, and when they are answered the next one uses their connection.
type buyers struct {
	users       load.Users
	next        int64 // number of the next buyer, from 0
	connections int
}

// burst has the answers to some of them.
type burst struct {
	micros []uint32 // of each answer
	took   time.Duration
}

func (b *burst) answered() int64 { return int64(len(b.micros)) }

// add adds the answers of a later burst.
func (b *burst) add(more burst) {
	b.micros, b.took = append(b.micros, more.micros...), b.took+more.took
}

// rate returns the answers per second.
func (b *burst) rate() float64 { return float64(len(b.micros)) / b.took.Seconds() }

// p99 returns the 99th percentile in milliseconds.
func (b *burst) p99() float64 {
	slices.Sort(b.micros)
	return float64(b.micros[len(b.micros)*99/100]) / 1000
}

// buy lets users buy for the given time. All answers must have the status.
func (b *buyers) buy(ctx context.Context, addr string, voucher int64, status int, d time.Duration) (burst, error) {
	a, err := load.Burst{
		Users: b.users, First: b.next, Endpoints: []load.Endpoint{{Addr: addr, Vouchers: []int64{voucher}}},
		Connections: b.connections, Want: status, Duration: d, Whole: true,
	}.Send(ctx)
	b.next = a.Next
	return burst{a.Micros, a.Ended.Sub(a.Began)}, err
}
