package faults

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/lock"
	"seckill/internal/testkit"
	"seckill/test/box"
)

// Scenarios with locks: the expirer's, whose work the ledger fences with the lock's token. Orders of a separate sale
// fall due meanwhile. However many instances believe that they have the lock, each order is expired once, its unit
// comes back once, and the fence never falls.

const (
	expirerLock  = "expirer"
	locksPrefix  = "lock:" // of keys, as in cmd/server
	dueOrders    = 40      // at a time
	dueStock     = 1000
	expirerFence = "SELECT token FROM tb_fence WHERE name = 'expirer'"
)

// due is a sale whose orders are not paid.
type due struct {
	*run

	buyers  *box.Buyers
	ordered int
	stopped atomic.Int64 // number, from 1, of the instance that is stopped, and that buyers avoid
}

// openDue creates the sale, and watches the fence from now on.
func (r *run) openDue() *due {
	r.Helper()
	ctx, stop := context.WithCancel(r.Context())
	d := &due{run: r, buyers: r.site.Buyers(r.createSale(dueStock, nil))}
	d.buyers.Pick = d.pick
	var watching sync.WaitGroup
	watching.Go(func() { d.watchFence(ctx) })
	r.Cleanup(func() { stop(); watching.Wait() })
	return d
}

func (d *due) pick(i int) *box.Server {
	if int64(i%len(d.site.Servers))+1 == d.stopped.Load() {
		i++
	}
	return d.site.Servers[i%len(d.site.Servers)]
}

// watchFence fails the scenario if the fence falls.
func (d *due) watchFence(ctx context.Context) {
	for highest := int64(0); ctx.Err() == nil; {
		token, err := d.fence(ctx)
		if err == nil && token < highest {
			d.Errorf("the fence fell from %d to %d", highest, token)
		}
		highest = max(highest, token)
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// fence returns the highest token used so far to expire orders.
func (d *due) fence(ctx context.Context) (token int64, err error) {
	err = d.site.Ledger.DB.QueryRowContext(ctx, expirerFence).Scan(&token)
	return token, err
}

// fall lets more orders fall due.
func (d *due) fall() {
	d.Helper()
	d.buyers.BuyAll(d.Context(), 8, d.newUsers(dueOrders))
	d.ordered += dueOrders
	box.Eventually(d, "the orders to fall due", func() error {
		rows, err := d.site.Ledger.Orders(d.Context(), d.buyers.Voucher)
		if err == nil && len(rows) < d.ordered {
			err = fmt.Errorf("%d orders are recorded", len(rows))
		}
		return err
	})
	// MySQL may undo it in a deadlock with an expirer that is at the orders which fell due before.
	box.Eventually(d, "deadlines that are over", func() error {
		_, err := d.site.Ledger.DB.ExecContext(d.Context(),
			"UPDATE tb_voucher_order SET pay_deadline = UTC_TIMESTAMP(3) - INTERVAL 1 SECOND "+
				"WHERE voucher_id = ? AND status = 1", d.buyers.Voucher)
		return err
	})
}

// awaitExpired waits until all due orders are expired, and fails the scenario if one was expired twice or if the units
// did not all come back exactly once.
func (d *due) awaitExpired() {
	d.Helper()
	box.Eventually(d, "the expiry of all orders that fell due", func() error {
		var expired, twice int
		err := d.site.Ledger.DB.QueryRowContext(d.Context(),
			"SELECT COUNT(*), COALESCE(SUM(n > 1), 0) FROM (SELECT COUNT(*) n FROM tb_order_event e "+
				"JOIN tb_voucher_order o ON o.id = e.order_id WHERE o.voucher_id = ? AND e.actor = 'expirer' GROUP "+
				"BY o.id) x", d.buyers.Voucher).
			Scan(&expired, &twice)
		if err == nil && twice > 0 {
			d.Fatalf("%d orders were expired more than once", twice)
		}
		if err == nil && expired != d.ordered {
			err = fmt.Errorf("%d of %d are expired", expired, d.ordered)
		}
		return err
	})
	box.Eventually(d, "the units of the expired orders", func() error {
		stock, _, err := d.site.Ledger.Sale(d.Context(), d.buyers.Voucher)
		if err != nil {
			return err
		}
		sale, err := d.site.Redis.Sale(d.Context(), d.buyers.Voucher)
		if err == nil && (stock != dueStock || sale.Stock != dueStock) {
			err = fmt.Errorf("%d units in the ledger and %d in Redis, of %d", stock, sale.Stock, dueStock)
		}
		return err
	})
}

// holder returns which instance has the expirer's lock, according to Redis.
func (d *due) holder() int {
	d.Helper()
	return d.holderOf(expirerLock)
}

// holderOf returns which instance has the lock, according to Redis.
func (d *due) holderOf(name string) int {
	d.Helper()
	client := redis.NewClient(&redis.Options{Addr: d.redis.Addr})
	defer func() { _ = client.Close() }() // nothing is under way
	locker, err := lock.New(client, locksPrefix)
	if err != nil {
		d.Fatal(err)
	}
	mutex := locker.Mutex(name)
	found := -1
	box.Eventually(d, "a holder of the lock "+name, func() error {
		state, err := mutex.State(d.Context())
		if err != nil || !state.IsLocked() {
			return fmt.Errorf("nobody has it (%w)", err)
		}
		_, pid, _ := strings.Cut(state.Holders[0].Label, "/")
		for i, srv := range d.site.Servers {
			if fmt.Sprint(srv.PID()) == pid {
				found = i
				return nil
			}
		}
		return fmt.Errorf("process %s has it, which is none of the instances", pid)
	})
	return found
}

// holderStopped stops the holder of the expirer's lock for longer than its lease, after it has sent its request for the
// fence and before that reaches the ledger. Another instance gets the lock and expires orders; then the first one
// continues where it was.
func holderStopped(r *run) {
	r.open(deployment{units: 12_000})
	d := r.openDue()
	r.buyers.Pick = d.pick
	d.fall()
	d.awaitExpired()
	r.load(16, 50*time.Millisecond)
	r.awaitAccepted(100)
	for range 2 {
		n := d.holder()
		b := r.proxies[n].mysql.Break(testkit.Match{Text: "tb_fence"})
		r.await("the holder's request for the fence", b.Reached())
		victim := r.site.Servers[n]
		_, err := victim.Signal(syscall.SIGSTOP)
		r.must(err)
		d.stopped.Store(int64(n) + 1)
		before, err := d.fence(r.Context())
		r.must(err)
		d.fall()
		box.Eventually(r, "another instance with the lock", func() error {
			token, err := d.fence(r.Context())
			if err == nil && token <= before {
				err = fmt.Errorf("the fence is still at %d", token)
			}
			return err
		})
		d.fall() // for both instances
		b.Release()
		_, err = victim.Signal(syscall.SIGCONT)
		r.must(err)
		d.stopped.Store(0)
		d.awaitExpired()
		d.fall()
		d.awaitExpired()
	}
	r.faultEnded()
	r.awaitAccepted(100)
	r.finish()
}

// redisKilledUnderLock kills Redis while an instance has the expirer's lock, and starts it again from its file.
func redisKilledUnderLock(r *run) {
	r.rebuilt = true // by instances that notice the restart of Redis
	r.open(deployment{units: 12_000})
	d := r.openDue()
	d.fall()
	d.awaitExpired()
	r.load(16, 50*time.Millisecond)
	for range 3 {
		r.awaitAccepted(100)
		d.holder()
		d.fall()
		r.redis.Kill()
		r.redis.Start()
		d.fall()
		d.awaitExpired()
	}
	r.faultEnded()
	r.awaitAccepted(100)
	r.finish()
}

// forgetLock starts Redis again without data, while the holder cannot reach it, and returns an error if the holder's
// lease ended before another's request reached the ledger, and then its own, as may happen on a busy machine.
func (d *due) forgetLock() error {
	const superseded = "of expirer, and" // ErrSuperseded
	before, n := d.logged(superseded), d.holder()
	d.stopped.Store(int64(n) + 1)
	defer d.stopped.Store(0)
	d.proxies[n].redis.Blackhole()
	defer d.proxies[n].redis.Heal()
	defer d.proxies[n].redis.Reset()
	d.redis.Kill()
	d.redis.Start()
	for end := time.Now().Add(lock.DefaultLease); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if d.logged(superseded) > before {
			return nil
		}
	}
	return errors.New("nothing was refused during the lease")
}

// lockForgotten starts Redis again without data while the holder of the expirer's lock cannot reach it. Another
// instance gets the lock while the first still believes in it, until its lease is over. The ledger refuses the first
// one's requests with its lower token.
func lockForgotten(r *run) {
	r.rebuilt = true
	r.open(deployment{units: 12_000, redis: []string{"--appendonly", "no", "--save", ""}})
	d := r.openDue()
	r.buyers.Pick = d.pick
	d.fall()
	d.awaitExpired()
	r.load(16, 50*time.Millisecond)
	for range 2 {
		r.awaitAccepted(100)
		box.Eventually(r, "a holder whose request is refused", d.forgetLock)
		d.fall()
		d.awaitExpired()
	}
	r.faultEnded()
	r.awaitAccepted(100)
	r.finish()
}
