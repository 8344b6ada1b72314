package faults

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/checker"
	"seckill/internal/testkit"
	"seckill/scripts"
	"seckill/test/box"
)

// commitAnswersLost loses the answer to a COMMIT, many times: only the ledger knows whether the rows exist.
func commitAnswersLost(r *run) {
	r.open(deployment{})
	r.load(48, 20*time.Millisecond)
	r.awaitAccepted(300)
	for range 9 {
		b := r.proxies[r.victim()].mysql.Break(commitAnswered())
		r.await("a COMMIT's answer", b.Reached())
		b.Cut()
	}
	r.faultEnded()
	r.awaitAccepted(100)
	r.finish()
}

// acknowledgementsRefused breaks every connection that acknowledges, for half a minute. Recorded entries stay in the
// stream, and no instance retries in a hot loop.
func acknowledgementsRefused(r *run) {
	const length, perSecond = 30 * time.Second, 10 // tries of one instance
	r.open(deployment{units: 8000})
	r.load(8, 50*time.Millisecond)
	r.awaitAccepted(200)
	began := time.Now()
	for _, p := range r.proxies {
		p.redis.Refuse(digest(scripts.Source("acknowledge")))
	}
	<-time.After(length)
	r.awaitAccepted(50) // admission goes on
	r.faultEnded()
	tries := 0
	for _, p := range r.proxies {
		tries += p.redis.Refused()
		p.redis.Heal()
	}
	r.Logf("%d acknowledgements were refused", tries)
	if most := len(r.proxies) * perSecond * int(time.Since(began)/time.Second); tries == 0 || tries > most {
		r.Errorf("%d tries to acknowledge, want some, and at most %d", tries, most)
	}
	r.finish()
}

// suspendedAt stops an instance at a request of its recorder until the others have taken its entries over. Then it
// continues, so both write.
func suspendedAt(at testkit.Match) func(*run) {
	return func(r *run) {
		r.open(deployment{units: 12_000})
		r.buyers.Pick = box.NewBalancer(r, r.site.Servers).Pick
		r.load(32, 30*time.Millisecond)
		r.awaitAccepted(300)
		n := r.victim()
		victim := r.site.Servers[n]
		b := r.proxies[n].mysql.Break(at)
		r.await("the request to fail at", b.Reached())
		_, err := victim.Signal(syscall.SIGSTOP)
		r.must(err)
		box.Eventually(r, "others taking over what the stopped instance had read", func() error {
			pending, err := r.pendingOf(victim)
			if err == nil && pending > 0 {
				err = fmt.Errorf("%d entries are pending for it", pending)
			}
			return err
		})
		_, err = victim.Signal(syscall.SIGCONT)
		r.must(err)
		b.Release()
		r.faultEnded()
		r.awaitAccepted(100)
		r.finish()
	}
}

// pendingOf returns how many entries are delivered to an instance and not acknowledged.
func (r *run) pendingOf(srv *box.Server) (n int64, err error) {
	consumers, err := r.site.Redis.XInfoConsumers(r.Context(), r.site.Redis.StreamKey(), box.RecorderGroup).Result()
	for _, c := range consumers {
		if strings.HasPrefix(c.Name, srv.Name+":") {
			n += c.Pending
		}
	}
	return n, err
}

// backlog cuts MySQL off until a hundred thousand orders wait, kills all instances, and starts them again.
func backlog(r *run) {
	const waiting = 100_000
	r.within = 2 * time.Minute
	r.open(deployment{units: waiting + 5000})
	r.load(128, 0)
	r.awaitAccepted(300)
	for _, p := range r.proxies {
		p.mysql.Cut()
	}
	for range 10 {
		r.awaitAccepted(waiting / 10)
	}
	r.endLoad()
	for _, srv := range r.site.Servers {
		r.must(srv.Kill())
	}
	n, pending, err := r.site.Redis.Backlog(r.Context())
	r.must(err)
	r.Logf("%d entries wait, %d of them with dead instances", n, pending)
	if n < waiting {
		r.Errorf("%d entries wait, want %d", n, waiting)
	}
	for _, p := range r.proxies {
		p.mysql.Heal()
	}
	r.faultEnded()
	r.site.Start(r)
	r.finish()
}

// poisoned adds entries that cannot be decoded, and one of an unknown voucher. The others are recorded as fast as
// before.
func poisoned(r *run) {
	const soon = 20 * time.Second // a busy machine needs three, or more
	r.open(deployment{})
	r.buyers.Query = "wait=30s" // answers come when the order is recorded, or after half a minute
	r.load(32, 20*time.Millisecond)
	r.awaitAccepted(300)
	poison := []map[string]any{
		{"nothing": "of ours"},
		{"v": "seven", "u": "1", "o": "1", "e": "1", "s": "1"},
		{"v": r.buyers.Voucher, "u": "1", "o": "99999999999999999999", "e": "1", "s": "1"},
		{"v": r.buyers.Voucher, "u": "-1", "o": "1", "e": "1", "s": "1"},
	}
	r.dead = int64(len(poison))
	const nowhere = 424_242 // a voucher that does not exist
	poison = append(poison, map[string]any{"v": nowhere, "u": "1", "o": "77", "e": "1", "s": "1"})
	before := len(r.buyers.Record.Answers())
	for _, fields := range poison {
		r.must(r.site.Redis.XAdd(r.Context(), &redis.XAddArgs{Stream: r.site.Redis.StreamKey(), Values: fields}).Err())
	}
	r.faultEnded()
	r.awaitAccepted(300)
	r.finish()
	rows, err := r.site.Ledger.Orders(r.Context(), nowhere)
	r.must(err)
	if len(rows) != 1 || rows[0].Status != checker.Failed {
		r.Errorf("rows of the voucher that does not exist: %v, want one that failed", rows)
	}
	slowest := slices.MaxFunc(r.buyers.Record.Answers()[before:], func(a, b checker.Answer) int {
		return int(a.Received.Sub(a.Sent) - b.Received.Sub(b.Sent))
	})
	if took := slowest.Received.Sub(slowest.Sent); took > soon {
		r.Errorf("an order was recorded after %v: %s", took, slowest)
	}
}
