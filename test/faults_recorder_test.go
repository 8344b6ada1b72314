package test

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
)

// commitAnswersLost loses the answer to a COMMIT, many times: whether the rows are there only the ledger can tell.
func commitAnswersLost(d *drill) {
	d.open(deployment{})
	d.load(48, 20*time.Millisecond)
	d.traffic(300)
	for range 9 {
		c := d.wires[d.victim()].mysql.Catch(commitAnswered())
		d.await("a COMMIT's answer", c.Caught())
		c.Cut()
	}
	d.heal()
	d.traffic(100)
	d.finish()
}

// acknowledgementsRefused ends every connection that wants to acknowledge, for half a minute. What is recorded stays in
// the stream meanwhile, and nobody tries in a hot loop.
func acknowledgementsRefused(d *drill) {
	const length, perSecond = 30 * time.Second, 10 // tries of one instance
	d.open(deployment{units: 8000})
	d.load(8, 50*time.Millisecond)
	d.traffic(200)
	for _, w := range d.wires {
		w.redis.Refuse(digest(scripts.Settle))
	}
	<-time.After(length)
	d.traffic(50) // admission does not mind
	d.heal()
	tries := 0
	for _, w := range d.wires {
		tries += w.redis.Refused()
		w.redis.Heal()
	}
	d.Logf("%d acknowledgements were refused", tries)
	if most := len(d.wires) * perSecond * int(length/time.Second); tries == 0 || tries > most {
		d.Errorf("%d tries to acknowledge, want some, and at most %d", tries, most)
	}
	d.finish()
}

// stoppedAt stops an instance at a moment of recording until the others have taken over what it had read. Then it goes
// on, from where it stood: both write.
func stoppedAt(m testkit.Moment) func(*drill) {
	return func(d *drill) {
		d.open(deployment{units: 12_000})
		d.crowd.pick = newBalancer(d, d.site.servers).pick
		d.load(32, 30*time.Millisecond)
		d.traffic(300)
		n := d.victim()
		victim := d.site.servers[n]
		c := d.wires[n].mysql.Catch(m)
		d.await("the moment of the fault", c.Caught())
		_, err := victim.signal(syscall.SIGSTOP)
		d.must(err)
		eventually(d, "others taking over what the stopped instance had read", func() error {
			pending, err := d.pendingOf(victim)
			if err == nil && pending > 0 {
				err = fmt.Errorf("%d entries are pending for it", pending)
			}
			return err
		})
		_, err = victim.signal(syscall.SIGCONT)
		d.must(err)
		c.Release()
		d.heal()
		d.traffic(100)
		d.finish()
	}
}

// pendingOf returns how many entries were delivered to an instance and are not acknowledged.
func (d *drill) pendingOf(srv *server) (n int64, err error) {
	consumers, err := d.site.live.rdb.XInfoConsumers(d.Context(), d.site.live.streamKey(), group).Result()
	for _, c := range consumers {
		if strings.HasPrefix(c.Name, srv.name+":") {
			n += c.Pending
		}
	}
	return n, err
}

// backlog lets a hundred thousand orders wait, by cutting MySQL off, kills all instances, and starts them again.
func backlog(d *drill) {
	const waiting = 100_000
	d.within = 2 * time.Minute
	d.open(deployment{units: waiting + 5000})
	d.load(128, 0)
	d.traffic(300)
	for _, w := range d.wires {
		w.mysql.Cut()
	}
	for range 10 {
		d.traffic(waiting / 10)
	}
	d.rest()
	for _, srv := range d.site.servers {
		d.must(srv.kill())
	}
	n, pending, err := d.site.live.queue(d.Context())
	d.must(err)
	d.Logf("%d entries wait, %d of them with instances that are dead", n, pending)
	if n < waiting {
		d.Errorf("%d entries wait, want %d", n, waiting)
	}
	for _, w := range d.wires {
		w.mysql.Heal()
	}
	d.heal()
	d.site.start(d)
	d.finish()
}

// poisoned puts entries that cannot be decoded, and one of a voucher that does not exist, at the head of the stream.
// Those that can be decoded are recorded as fast as ever.
func poisoned(d *drill) {
	const soon = 3 * time.Second
	d.open(deployment{})
	d.crowd.query = "wait=10s" // answers come when the order is recorded
	d.load(32, 20*time.Millisecond)
	d.traffic(300)
	poison := []map[string]any{
		{"nothing": "of ours"},
		{"v": "seven", "u": "1", "o": "1", "e": "1", "s": "1"},
		{"v": d.crowd.voucher, "u": "1", "o": "99999999999999999999", "e": "1", "s": "1"},
		{"v": d.crowd.voucher, "u": "-1", "o": "1", "e": "1", "s": "1"},
	}
	d.dead = int64(len(poison))
	const nowhere = 424_242 // a voucher that does not exist
	poison = append(poison, map[string]any{"v": nowhere, "u": "1", "o": "77", "e": "1", "s": "1"})
	before := len(d.crowd.record.all())
	for _, fields := range poison {
		d.must(d.site.live.rdb.XAdd(d.Context(), &redis.XAddArgs{Stream: d.site.live.streamKey(), Values: fields}).Err())
	}
	d.heal()
	d.traffic(300)
	d.finish()
	rows, err := d.site.ledger.orders(d.Context(), nowhere)
	d.must(err)
	if len(rows) != 1 || rows[0].Status != checker.Failed {
		d.Errorf("rows of the voucher that does not exist: %v, want one that failed", rows)
	}
	slowest := slices.MaxFunc(d.crowd.record.all()[before:], func(a, b answer) int {
		return int(a.told.Sub(a.asked) - b.told.Sub(b.asked))
	})
	if took := slowest.told.Sub(slowest.asked); took > soon {
		d.Errorf("an order was recorded after %v: %s", took, slowest)
	}
}
