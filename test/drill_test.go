package test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"seckill/internal/checker"
	"seckill/internal/checker/linear"
	"seckill/internal/testkit"
)

// drill is one run of a scenario: a deployment with stores of its own, a crowd that buys there, a fault, and what came
// of it. Its steps are open, load, traffic, the fault, heal, finish.
type drill struct {
	testing.TB
	// rand makes every choice that a scenario leaves to chance; the same seed makes the same ones.
	rand *rand.Rand

	redis *testkit.RedisServer
	mysql *testkit.MariaDBServer
	site  *site
	wires []wires // of each instance
	crowd *crowd
	units int64

	// within is how long after heal everything must be settled; 30 s unless the scenario says otherwise.
	within time.Duration
	// loss says that a store lost what it had acknowledged. What is lost then is counted, not forbidden.
	loss bool
	// rebuilt says that the sale may be rebuilt, since Redis was restarted or its contents were touched. Otherwise a
	// rebuild means that the service had to mend what it had done itself.
	rebuilt bool
	// dead is how many dead letters the scenario has made.
	dead int64

	users   atomic.Int64 // given out so far
	buyers  sync.WaitGroup
	loaded  bool   // buyers come by themselves
	enough  func() // says that they shall come no more
	healed  time.Time
	outcome outcome
}

// outcome is what a drill is remembered by.
type outcome struct {
	accepted int           // buyers who were told that they have an order
	recovery time.Duration // from heal until drained and checked
	lost     int           // accepted orders that are gone, or failed
}

// wires are the lines between one instance and the two stores.
type wires struct{ redis, mysql *testkit.Proxy }

// deployment is what a drill runs on. The zero value is three instances and 6,000 units on a Redis that flushes before
// it answers, as the compose stack has it.
type deployment struct {
	instances int
	units     int64
	settings  map[string]string // of every instance, besides the usual ones
	redis     []string          // arguments of its redis-server instead of the usual ones
	mysql     []string          // more arguments of its mariadbd
}

func durable() []string { return []string{"--appendonly", "yes", "--appendfsync", "always"} }

// open starts stores and instances, each instance with wires of its own, and a sale.
func (d *drill) open(p deployment) {
	d.Helper()
	if p.instances == 0 {
		p.instances = 3
	}
	if p.units == 0 {
		p.units = 6000
	}
	if p.redis == nil {
		p.redis = durable()
	}
	d.redis, d.mysql = testkit.StartRedis(d, p.redis...), testkit.StartMariaDB(d, p.mysql...)
	dsn := d.mysql.DSN("seckill")
	d.site = emptySite(d, d.redis.Addr, "", dsn)
	for range p.instances {
		w := wires{testkit.NewProxy(d, d.redis.Addr), testkit.NewProxy(d, d.mysql.Addr)}
		d.wires = append(d.wires, w)
		d.site.add(d, w.redis.Addr, through(d, dsn, w.mysql), p.settings)
	}
	d.site.start(d)
	d.units = p.units
	d.crowd = d.site.crowd(d.site.createSale(d, p.units, time.Now().Add(time.Hour)))
}

// through returns the DSN with the proxy's address.
func through(tb testing.TB, dsn string, p *testkit.Proxy) string {
	tb.Helper()
	c, err := mysql.ParseDSN(dsn)
	if err != nil {
		tb.Fatal(err)
	}
	c.Addr = p.Addr
	return c.FormatDSN()
}

// victim chooses an instance.
func (d *drill) victim() int { return d.rand.IntN(len(d.site.servers)) }

// people gives out n users who were not here before.
func (d *drill) people(n int) []int64 {
	last := d.users.Add(int64(n))
	return people(last-int64(n)+1, n)
}

// load lets buyers come from now on until finish: each of so many clients brings one new user after the other, who
// asks until he knows, and then waits for the pause.
func (d *drill) load(clients int, pause time.Duration) {
	enough := make(chan struct{})
	d.loaded, d.enough = true, sync.OnceFunc(func() { close(enough) })
	for range clients {
		d.buyers.Go(func() {
			for {
				d.crowd.insist(d.Context(), d.users.Add(1))
				select {
				case <-enough:
					return
				case <-d.Context().Done():
					return
				case <-time.After(pause):
				}
			}
		})
	}
	d.Cleanup(d.buyers.Wait) // the test's context has ended by then
}

// traffic waits until n purchases more were accepted. So a fault never meets an idle service unnoticed.
func (d *drill) traffic(n int) {
	d.Helper()
	n += d.crowd.record.acceptedCount()
	d.await(fmt.Sprintf("the %dth accepted purchase", n), d.crowd.record.reached(n))
}

// await waits for a signal.
func (d *drill) await(what string, signal <-chan struct{}) {
	d.Helper()
	select {
	case <-signal:
	case <-time.After(patience):
		d.Fatalf("%s did not happen within %v; answers %v", what, patience, d.crowd.record.tally())
	}
}

// heal notes that the fault is over: the time of recovery runs from here. Buyers must still have been there for all of
// the fault.
func (d *drill) heal() {
	d.Helper()
	d.healed = time.Now()
	if n := d.crowd.record.acceptedCount(); d.loaded && int64(n) >= d.units {
		d.Errorf("all %d units were sold before the fault was over", n)
	}
}

// must fails the drill for an error.
func (d *drill) must(err error) {
	d.Helper()
	if err != nil {
		d.Fatal(err)
	}
}

// finish ends the load, waits until everything is settled, and has the checker look at it. Then the rest is sold, to
// the last unit, and winners are asked what they were told.
func (d *drill) finish() evidence {
	d.Helper()
	if d.healed.IsZero() {
		d.Fatal("the scenario never said that its fault was over")
	}
	d.rest()
	e := d.settled()
	d.outcome.recovery = time.Since(d.healed)
	d.Logf("settled %v after the fault; answers %v", d.outcome.recovery.Round(time.Millisecond), d.crowd.record.tally())
	if d.outcome.recovery > d.within {
		d.Errorf("settled after %v, want within %v", d.outcome.recovery, d.within)
	}
	if left := int(d.units - e.liveRows()); left > 0 {
		d.crowd.rush(d.Context(), 64, d.people(left+left/20+10))
	}
	d.askWinners(50)
	e = d.settled()
	d.outcome.accepted = len(d.crowd.record.winners())
	if e.liveRows() != d.units {
		d.Errorf("%d units sold, want all %d", e.liveRows(), d.units)
	}
	if !d.loss && !d.rebuilt {
		d.expectNoRebuild()
	}
	return e
}

// expectNoRebuild fails the drill when the sale was ever rebuilt.
func (d *drill) expectNoRebuild() {
	d.Helper()
	epoch, err := d.site.ledger.epoch(d.Context(), d.crowd.voucher)
	d.must(err)
	if epoch != 1 {
		d.Errorf("the sale is at epoch %d: it was rebuilt, and Redis had lost nothing", epoch)
	}
}

// rest lets no new buyers come, and waits until each who is there knows.
func (d *drill) rest() {
	d.Helper()
	if d.loaded {
		d.enough()
		d.await("the answer to the last buyer", closedAfter(&d.buyers))
	}
}

// closedAfter returns a channel that is closed when the group has ended.
func closedAfter(wg *sync.WaitGroup) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		wg.Wait()
		close(done)
	}()
	return done
}

// askWinners lets some winners press the button again; the checker compares what they are told.
func (d *drill) askWinners(n int) {
	var users []int64
	for user := range d.crowd.record.winners() {
		if len(users) < n {
			users = append(users, user)
		}
	}
	d.crowd.rush(d.Context(), 10, users)
}

// settled waits until nothing is under way and every witness agrees, and returns the evidence. It fails the drill with
// the contradictions that are left when time runs out.
func (d *drill) settled() evidence {
	d.Helper()
	deadline := time.Now().Add(d.within)
	for {
		e, err := d.judge()
		if err == nil {
			return e
		}
		if time.Now().After(deadline) {
			d.Fatalf("not settled: %v", err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// judge gathers the evidence and returns what contradicts it.
func (d *drill) judge() (e evidence, err error) {
	waiting, pending, err := d.site.live.queue(d.Context())
	if err != nil || waiting+pending > 0 { // not worth looking at everything
		return e, fmt.Errorf("%d entries wait in Redis, %d are pending (%w)", waiting, pending, err)
	}
	if e, err = d.site.gather(d.Context(), d.crowd, d.units); err != nil {
		return e, err
	}
	e.Loss = d.loss
	if e.Redis.Dead == d.dead {
		e.Redis.Dead = 0
	}
	r := checker.Check(e.Evidence)
	d.outcome.lost = len(r.Lost)
	return e, contradictions(r)
}

// linearizable checks that the answers could come from a shop that serves one request at a time. Only short records can
// be checked so.
func (d *drill) linearizable(e evidence) {
	d.Helper()
	live := map[int64]int64{}
	for _, o := range e.Views[0].Orders {
		if o.Status.Live() {
			live[o.User] = o.ID
		}
	}
	if got := linear.Check(d.units, d.crowd.record.evidence(d.crowd.voucher), live, patience); got != linear.Yes {
		d.Errorf("the record is %s", got)
	}
}
