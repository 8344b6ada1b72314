package faults

import (
	crand "crypto/rand"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"seckill/internal/checker"
	"seckill/internal/testkit"
	"seckill/lab/linear"
	"seckill/test/box"
)

// run is one run of a scenario: a deployment with its own stores, its buyers, and the result. Its steps are open, load,
// awaitAccepted, the fault, faultEnded, finish.
type run struct {
	testing.TB
	// rand makes every choice that a scenario leaves to chance; the same seed makes the same choices.
	rand *rand.Rand

	redis   *testkit.RedisServer  // nil on a cluster and with Sentinels
	cluster *testkit.RedisCluster // nil except on a cluster
	mysql   *testkit.MariaDBServer
	galera  *testkit.GaleraCluster // nil except on Galera; mysql is then its first node
	// sentinels is nil except with Sentinels.
	sentinels *testkit.RedisSentinels
	site      *box.Site
	proxies   []proxyPair // one pair per instance
	buyers    *box.Buyers
	units     int64
	// opened is the sale's epoch when it went on sale: more than 1 if Redis had not answered the first try in time.
	opened int64

	stack  *stack // whose stores open uses instead of starting some; nil: none
	moveAt int
	// partitions is the number of partitions, and partition the sale's; 0 and 0 except on the stack.
	partitions, partition int
	added                 int             // the partition that was added during the sale; 0: none
	moved                 <-chan struct{} // closed when the sale's slot has moved; nil if it does not
	perUser               int64           // units that a user may have; 0: one

	full bool // scenarios in full size

	// within limits the time from faultEnded until everything is done: 30 s unless the scenario changes it. A run that
	// does not write its results gets two minutes more, as other programs may use the machine.
	within time.Duration
	// loss: a store may lose acknowledged writes. Lost orders are then counted, not forbidden.
	loss bool
	// rebuilt: the sale may be rebuilt, since Redis is restarted or its contents are changed. Otherwise a rebuild means
	// that the service had to repair its own damage.
	rebuilt bool
	// rebuilds is how often the sale may then be rebuilt; 0: any number.
	rebuilds int64
	// dead is how many dead letters the scenario causes.
	dead int64

	users     atomic.Int64 // the last user so far
	loading   sync.WaitGroup
	hasLoad   bool          // whether load was called
	loadEnd   chan struct{} // closed when the load must end
	stopLoad  func()        // closes it
	awaiting  atomic.Int64  // how many of the scenario's steps wait for purchases
	faultOver time.Time
	result    result
}

// result is a run's row in the report.
type result struct {
	accepted int           // buyers who got an order
	recovery time.Duration // from faultEnded until done and checked
	lost     int           // accepted orders that are gone or failed
}

// proxyPair is the proxies between one instance and the two stores.
type proxyPair struct{ redis, mysql *testkit.Proxy }

// deployment is the environment of a scenario. The zero value is three instances and 6,000 units on a Redis that
// flushes before it answers, like the compose stack's.
type deployment struct {
	instances int
	units     int64
	settings  map[string]string // of every instance, in addition to the usual ones
	redis     []string          // replaces the usual arguments of its redis-server
	mysql     []string          // additional arguments of its mariadbd

	plainUser  bool             // instances have all rights in their schema, and none on the server
	mysqlDisk  int              // size of its own disk in megabytes; 0: none
	redisClock *testkit.Clock   // Redis's clock; nil: the machine's
	clocks     []*testkit.Clock // the instances' clocks
	perUser    int64            // units that a user may have; 0: one
	free       bool             // the sale is free, and its orders have codes
}

// newRun returns a run whose choices depend on the seed.
func newRun(tb testing.TB, seed uint64) *run {
	tb.Helper()
	return &run{TB: tb, rand: rand.New(rand.NewPCG(seed, 0)), within: 30 * time.Second, full: os.Getenv(envFull) != ""}
}

// durable returns the arguments of a Redis that flushes before it answers.
func durable() []string { return []string{"--appendonly", "yes", "--appendfsync", "always"} }

// withDefaults returns the deployment with defaults filled in.
func (on deployment) withDefaults() deployment {
	if on.instances == 0 {
		on.instances = 3
	}
	if on.units == 0 {
		on.units = 6000
	}
	if on.redis == nil {
		on.redis = durable()
	}
	return on
}

// open starts stores, instances with proxies of their own, and a sale.
func (r *run) open(on deployment) {
	r.Helper()
	if r.stack != nil {
		r.openStack(on)
		return
	}
	on = on.withDefaults()
	if on.mysqlDisk > 0 {
		r.mysql = testkit.StartMariaDBOnDisk(r, on.mysqlDisk, on.mysql...)
	} else {
		r.mysql = testkit.StartMariaDB(r, on.mysql...)
	}
	if on.redisClock != nil {
		r.redis = testkit.StartRedisBy(r, on.redisClock, on.redis...)
	} else {
		r.redis = testkit.StartRedis(r, on.redis...)
	}
	dsn := r.mysql.DSN("seckill")
	r.site = box.EmptySite(r, r.redis.Addr, "", dsn)
	if on.plainUser {
		dsn = r.plainUser(dsn)
	}
	for range on.instances {
		p := proxyPair{testkit.NewProxy(r, r.redis.Addr), testkit.NewProxy(r, r.mysql.Addr)}
		r.proxies = append(r.proxies, p)
		r.site.Add(r, p.redis.Addr, throughProxy(r, dsn, p.mysql), on.settings)
	}
	for i, clock := range on.clocks {
		r.site.Servers[i].GoBy(r, clock)
	}
	r.start(on)
}

// plainUser creates a user with all rights in the schema and none on the server, and returns their DSN.
func (r *run) plainUser(dsn string) string {
	r.Helper()
	c, err := mysql.ParseDSN(dsn)
	r.must(err)
	c.User, c.Passwd = "shop", crand.Text()
	for _, statement := range []string{
		"CREATE USER shop@'%' IDENTIFIED BY '" + c.Passwd + "'", "GRANT ALL ON " + c.DBName + ".* TO shop@'%'",
	} {
		_, err := r.site.Ledger.DB.ExecContext(r.Context(), statement)
		r.must(err)
	}
	return c.FormatDSN()
}

// start starts the instances and a sale.
func (r *run) start(on deployment) {
	r.Helper()
	r.site.Start(r)
	r.units = on.units
	terms := map[string]any{}
	if on.perUser > 0 {
		terms["perUser"], r.perUser = on.perUser, on.perUser
	}
	if on.free {
		terms["payValue"], terms["redeemable"] = 0, true
	}
	r.put(terms)
}

// put creates a sale of the run's units, in which its buyers buy from now on.
func (r *run) put(terms map[string]any) {
	r.Helper()
	id := r.createSale(r.units, terms)
	r.buyers = r.site.Buyers(id)
	var err error
	r.site.Redis.Partition, err = r.site.Ledger.Partition(r.Context(), id)
	r.must(err)
	r.opened, err = r.site.Ledger.Epoch(r.Context(), id)
	r.must(err)
}

// createSale creates a sale whose window is longer than any clock here is wrong; fields are additional.
func (r *run) createSale(units int64, fields map[string]any) int64 {
	r.Helper()
	draft := box.SeckillDraft(1, units, time.Now().Add(-3*time.Hour), time.Now().Add(3*time.Hour))
	if r.partition > 0 {
		draft["partition"] = r.partition
	}
	maps.Copy(draft, fields)
	request := box.Request{
		Method: http.MethodPost, URL: r.site.URL("/voucher/seckill"), Token: box.AdminToken(), Body: draft,
	}
	var created box.Reply
	if draft["partition"] == nil {
		created = r.site.Client.Must(r, http.StatusCreated, request)
	} else {
		box.Eventually(r, "a sale in the partition, once all instances work there", func() (err error) {
			if created, err = r.site.Client.Do(r.Context(), request); err == nil &&
				created.StatusCode != http.StatusCreated {
				err = fmt.Errorf("%d %s", created.StatusCode, created.Body)
			}
			return err
		})
	}
	id := box.Decode[box.Voucher](r, created).ID
	r.site.AwaitState(r, id, "on_sale")
	return id
}

// throughProxy returns the DSN with the proxy's address instead of the server's.
func throughProxy(tb testing.TB, dsn string, p *testkit.Proxy) string {
	tb.Helper()
	c, err := mysql.ParseDSN(dsn)
	if err != nil {
		tb.Fatal(err)
	}
	c.Addr = p.Addr
	return c.FormatDSN()
}

// victim chooses an instance.
func (r *run) victim() int { return r.rand.IntN(len(r.site.Servers)) }

// newUsers returns n users who have not bought yet.
func (r *run) newUsers(n int) []int64 {
	last := r.users.Add(int64(n))
	return box.Users(last-int64(n)+1, n)
}

// load starts clients that buy until endLoad. Each takes a new user, buys until answered, and pauses, the longer the
// fewer units are left: so neither a fast machine nor a fault that lasts long on a slow one sells all units before the
// fault is over.
func (r *run) load(clients int, pause time.Duration) { r.loadOf(r.buyers, clients, pause) }

// loadOf is load, by other buyers of the same sale.
func (r *run) loadOf(buyers *box.Buyers, clients int, pause time.Duration) {
	r.loadBy(buyers, func() int64 { return r.users.Add(1) }, clients, pause)
}

// loadBy is loadOf, by users that next returns.
func (r *run) loadBy(buyers *box.Buyers, next func() int64, clients int, pause time.Duration) {
	if !r.hasLoad {
		r.hasLoad, r.loadEnd = true, make(chan struct{})
		r.stopLoad = sync.OnceFunc(func() { close(r.loadEnd) })
	}
	for range clients {
		r.loading.Go(func() {
			for {
				buyers.BuyUntilAnswered(r.Context(), next())
				if r.pauseLoad(pause, buyers) {
					return
				}
			}
		})
	}
	r.Cleanup(r.loading.Wait) // the test's context has ended by then
}

// pauseLoad pauses a client of load, and reports whether the load must end. The pause is four times as long when half
// of the units are left, and so on; it is a second at most while a step waits for purchases, and otherwise ten.
func (r *run) pauseLoad(pause time.Duration, buyers *box.Buyers) (ended bool) {
	const short, long = time.Second, 10 * time.Second
	left := min(r.stretched(pause, buyers), max(pause, long))
	for ; left > 0 || pause == 0; left -= short {
		select {
		case <-r.loadEnd:
			return true
		case <-r.Context().Done():
			return true
		case <-time.After(min(left, max(pause, short))):
		}
		if pause == 0 || r.awaiting.Load() > 0 {
			return false
		}
	}
	return false
}

// stretched returns a client's pause for the units that are left.
func (r *run) stretched(pause time.Duration, buyers *box.Buyers) time.Duration {
	sold := int64(buyers.Record.Accepted()) * max(r.perUser, 1) // at most
	part := float64(max(r.units-sold, 1)) / float64(r.units)
	return time.Duration(float64(pause) / (part * part))
}

// awaitAccepted waits until n more purchases are accepted, so that no fault hits an idle service unnoticed.
func (r *run) awaitAccepted(n int) {
	r.Helper()
	n += r.buyers.Record.Accepted()
	r.await(fmt.Sprintf("the %dth accepted purchase", n), r.buyers.Record.Reached(n))
}

// await waits for a signal.
func (r *run) await(what string, signal <-chan struct{}) {
	r.Helper()
	r.awaiting.Add(1)
	defer r.awaiting.Add(-1)
	select {
	case <-signal:
	case <-time.After(box.Patience):
		r.Fatalf("%s did not happen within %v; answers %v", what, box.Patience, r.buyers.Record.Counts())
	}
}

// faultEnded starts the recovery time. It fails the scenario if no unit was left at the end of the fault.
func (r *run) faultEnded() {
	r.Helper()
	r.faultOver = time.Now()
	if n := r.buyers.Record.Accepted(); r.hasLoad && int64(n) >= r.units {
		r.Errorf("all %d units were sold before the fault was over", n)
	}
}

// must fails the scenario if err is not nil.
func (r *run) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// finish ends the load and waits until everything is done and the checker finds nothing. Then it sells the rest, lets
// winners ask again, and checks once more.
func (r *run) finish() checker.Evidence {
	r.Helper()
	if r.faultOver.IsZero() {
		r.Fatal("the scenario did not call faultEnded")
	}
	r.awaitMoved()
	r.endLoad()
	e := r.awaitSettled()
	r.result.recovery = time.Since(r.faultOver)
	r.Logf("settled %v after the fault; answers %v",
		r.result.recovery.Round(time.Millisecond), r.buyers.Record.Counts())
	if within := r.settleWithin(); r.result.recovery > within {
		r.Errorf("settled after %v, want within %v", r.result.recovery, within)
	}
	if left := int(r.units - e.Live()); left > 0 {
		r.buyers.BuyAll(r.Context(), 64, r.newUsers(left+left/20+10))
	}
	r.askWinnersAgain(50)
	e = r.awaitSettled()
	r.result.accepted = len(r.buyers.Record.Winners())
	if e.Live() != r.units {
		r.Errorf("%d units sold, want all %d", e.Live(), r.units)
	}
	if !r.loss && !r.rebuilt {
		r.expectNoRebuild()
	}
	if r.rebuilds > 0 {
		r.expectRebuilds(r.rebuilds)
	}
	return e
}

// expectRebuilds fails the scenario if the sale was rebuilt more often than most.
func (r *run) expectRebuilds(most int64) {
	r.Helper()
	epoch, err := r.site.Ledger.Epoch(r.Context(), r.buyers.Voucher)
	r.must(err)
	// An instance that was suspended has the sale rebuilt once more, if the rebuild missed what only it remembered.
	most += int64(r.logged("a rebuild did not wait for this instance"))
	rebuilt := epoch - r.opened
	r.Logf("rebuilt %d times", rebuilt)
	if rebuilt > most {
		r.Errorf("the sale is at epoch %d: it was rebuilt %d times, want %d at most", epoch, rebuilt, most)
	}
}

// expectNoRebuild fails the scenario if the sale was rebuilt since it went on sale.
func (r *run) expectNoRebuild() {
	r.Helper()
	epoch, err := r.site.Ledger.Epoch(r.Context(), r.buyers.Voucher)
	r.must(err)
	if epoch != r.opened {
		r.Errorf("the sale was opened at epoch %d and is at %d: it was rebuilt, and Redis had lost nothing",
			r.opened, epoch)
	}
}

// endLoad admits no new buyers, and waits until the present ones are answered.
func (r *run) endLoad() {
	r.Helper()
	if r.hasLoad {
		r.stopLoad()
		r.await("the answer to the last buyer", closedAfter(&r.loading))
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

// askWinnersAgain lets n winners buy again; the checker compares the answers.
func (r *run) askWinnersAgain(n int) {
	var users []int64
	for user := range r.buyers.Record.Winners() {
		if len(users) < n {
			users = append(users, user)
		}
	}
	r.buyers.BuyAll(r.Context(), 10, users)
}

// settleWithin returns how long everything may take to be done.
func (r *run) settleWithin() time.Duration {
	return r.within + r.leeway()
}

// leeway returns how much longer things may take if other programs use the machine too: 0 in full runs.
func (r *run) leeway() time.Duration {
	if os.Getenv(envFaults) == "all" {
		return 0
	}
	return box.Patience
}

// awaitSettled waits until nothing is under way and record, ledger and Redis agree. If that takes too long, it fails
// the scenario with the remaining contradictions.
func (r *run) awaitSettled() checker.Evidence {
	r.Helper()
	deadline := time.Now().Add(r.settleWithin())
	for {
		e, err := r.check()
		if err == nil {
			return e
		}
		if time.Now().After(deadline) {
			r.Fatalf("not settled: %v", err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// check reads the evidence and returns its contradictions.
func (r *run) check() (e checker.Evidence, err error) {
	waiting, pending, err := r.site.Redis.Backlog(r.Context())
	if err != nil || waiting+pending > 0 { // too early for a full check
		return e, fmt.Errorf("%d entries wait in Redis, %d are pending (%w)", waiting, pending, err)
	}
	if e, err = r.site.Evidence(r.Context(), r.buyers, r.units); err != nil {
		return e, err
	}
	e.Loss, e.PerUser = r.loss, r.perUser
	if e.Redis.Dead == r.dead {
		e.Redis.Dead = 0
	}
	report := checker.Check(e)
	r.result.lost = len(report.Lost)
	return e, box.Contradictions(report)
}

// checkLinearizable checks that the answers could come from a shop that serves one request at a time. It needs a short
// record.
func (r *run) checkLinearizable(e checker.Evidence) {
	r.Helper()
	live := map[int64]int64{}
	for _, o := range e.Views[0].Orders {
		if o.Status.Live() {
			live[o.User] = o.ID
		}
	}
	if got := linear.Check(r.units, r.buyers.Record.Answers(), live, box.Patience); got != linear.Yes {
		r.Errorf("the record is %s", got)
	}
}
