package faults

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"seckill/internal/checker"
	"seckill/test/box"
)

// Scenarios in which many sales need repair, or one sale may harm others.

// sized returns the scenario's full size if that is wanted (make -C lab faults-full), otherwise one that takes seconds.
func (r *run) sized(full, quick int) int {
	if r.full {
		return full
	}
	return quick
}

// insertSales writes sales with 100 units each directly into the ledger, and waits until Redis holds all of them.
func (r *run) insertSales(n int, begin, end time.Time) (ids []int64) {
	r.Helper()
	tx, err := r.site.Ledger.DB.BeginTx(r.Context(), nil)
	r.must(err)
	for range n {
		result, err := tx.ExecContext(r.Context(),
			`INSERT INTO tb_voucher
			(shop_id, title, pay_value, actual_value, type, status, version, create_time, update_time)
			VALUES (77, 'one of many', 1000, 10000, 1, 1, 1, UTC_TIMESTAMP(3), UTC_TIMESTAMP(3))`)
		r.must(err)
		id, err := result.LastInsertId()
		r.must(err)
		_, err = tx.ExecContext(r.Context(), `INSERT INTO tb_seckill_voucher (voucher_id, stock, issued, begin_time, `+
			`end_time) VALUES (?, 100, 100, ?, ?)`,
			id, begin.UTC(), end.UTC())
		r.must(err)
		ids = append(ids, id)
	}
	r.must(tx.Commit())
	start := time.Now()
	r.awaitRepaired(10 * time.Minute)
	r.Logf("%d sales were opened in %v", n, time.Since(start).Round(time.Millisecond))
	return ids
}

// awaitRepaired waits until Redis holds every sale, open, at the ledger's epoch.
func (r *run) awaitRepaired(within time.Duration) {
	r.Helper()
	deadline := time.Now().Add(within)
	for {
		err := r.allRepaired()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			r.Fatalf("not all sales are repaired after %v: %v", within, err)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

func (r *run) allRepaired() error {
	rows, err := r.site.Ledger.DB.QueryContext(r.Context(), "SELECT voucher_id, epoch FROM tb_seckill_voucher")
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	epochs := map[int64]string{}
	for rows.Next() {
		var id int64
		var epoch string
		if err := rows.Scan(&id, &epoch); err != nil {
			return err
		}
		epochs[id] = epoch
	}
	if err := rows.Err(); err != nil {
		return err
	}
	pipe := r.site.Redis.Pipeline()
	for id := range epochs {
		pipe.HMGet(r.Context(), r.site.Redis.SaleKey(id), "mode", "epoch", "server")
	}
	info, err := r.site.Redis.Info(r.Context(), "server").Result()
	if err != nil {
		return err
	}
	cmds, err := pipe.Exec(r.Context())
	if err != nil {
		return err
	}
	good := 0
	for _, cmd := range cmds {
		text := cmd.String()
		for id, epoch := range epochs {
			if strings.HasPrefix(text, "hmget "+r.site.Redis.SaleKey(id)+" ") {
				if strings.Contains(text, "[open "+epoch+" ") && strings.Contains(info,
					strings.TrimSuffix(text[strings.LastIndex(text, " ")+1:], "]")) {
					good++
				}
				break
			}
		}
	}
	if good < len(epochs) {
		return fmt.Errorf("%d of %d sales are open", good, len(epochs))
	}
	return nil
}

// fullWithCorrections makes the service correct holders in a full Redis: after a loss, buyers are holders by other
// orders than the ledger's. Recording goes on, so that nothing waits at the end, while Redis still accepts no order.
func fullWithCorrections(r *run) {
	r.open(deployment{units: 2000})
	r.loss = true
	users := r.newUsers(300)
	r.buyers.BuyAll(r.Context(), 50, users)
	r.awaitSettled()
	release := r.site.Ledger.LockSale(r, r.buyers.Voucher)
	r.must(r.site.Redis.Del(r.Context(), r.site.Redis.BuyersKey(r.buyers.Voucher)).Err())
	r.buyers.BuyAll(r.Context(), 50, users) // those that are admitted before the sale is rebuilt
	waiting, _, err := r.site.Redis.Backlog(r.Context())
	r.must(err)
	if waiting == 0 {
		r.Error("no order waits that has to be corrected")
	}
	r.must(r.site.Redis.ConfigSet(r.Context(), "maxmemory", "1").Err())
	release()
	box.Eventually(r, "recording in a full Redis", func() error {
		waiting, pending, err := r.site.Redis.Backlog(r.Context())
		if err == nil && waiting+pending > 0 {
			err = fmt.Errorf("%d entries wait in Redis, %d are pending", waiting, pending)
		}
		return err
	})
	r.must(r.site.Redis.ConfigSet(r.Context(), "maxmemory", "0").Err())
	r.faultEnded()
	r.finish()
	r.expectFailed(1, len(users), "DUPLICATE_BUYER")
}

// nonsenseInOneSale writes every kind of nonsense into one of three sales, again and again. The others sell on and are
// not rebuilt, an instance that starts meanwhile becomes ready, and the sale is repaired.
func nonsenseInOneSale(r *run) {
	r.open(deployment{units: 40_000})
	bad := r.site.Buyers(r.site.CreateSale(r, 1000, time.Now().Add(time.Hour)))
	other := r.site.Buyers(r.site.CreateSale(r, 1000, time.Now().Add(time.Hour)))
	next := int64(500_000)
	users := func(n int) []int64 { next += int64(n); return box.Users(next-int64(n), n) }
	bad.BuyAll(r.Context(), 20, users(100))
	r.load(4, 20*time.Millisecond) // for minutes
	r.awaitAccepted(100)
	rdb, sale, holders := r.site.Redis, r.site.Redis.SaleKey(bad.Voucher), r.site.Redis.BuyersKey(bad.Voucher)
	r.keepWriting(sale, func() {
		r.must(r.site.Servers[0].KillAndStart()) // waits until the instance is ready
	})
	for _, nonsense := range []struct {
		name  string
		write func() error
	}{
		{"nothing more", func() error { return nil }},
		{"a sale of another type", func() error { return rdb.Set(r.Context(), sale, "x", 0).Err() }},
		{"holders of another type", func() error { return rdb.Set(r.Context(), holders, "x", 0).Err() }},
		{"both", func() error { return rdb.MSet(r.Context(), sale, "x", holders, "y").Err() }},
		{"no numbers", func() error { return rdb.HSet(r.Context(), sale, "epoch", "nan", "stock", "inf").Err() }},
		{
			"an epoch of nobody's",
			func() error { return rdb.HSet(r.Context(), sale, "epoch", "9007199254740991").Err() },
		},
		{
			"a rebuild of nobody's",
			func() error { return rdb.HSet(r.Context(), sale, "building", "9007199254740991").Err() },
		},
		{
			"holders that are none",
			func() error { return rdb.HSet(r.Context(), holders, "999999", "xyz", "nobody", "5").Err() },
		},
	} {
		r.must(nonsense.write())
		early := users(6) // who come before any sweep
		for i, user := range early {
			bad.Buy(r.Context(), r.site.Servers[i%len(r.site.Servers)], user)
		}
		start := time.Now()
		buyer := users(1)[0]
		box.Eventually(r, "mending "+nonsense.name, func() error {
			err := r.mended(bad.Voucher)
			for i := 0; err == nil && i < len(r.site.Servers); i++ { // which may remember different states
				if a := bad.Buy(r.Context(), r.site.Servers[i], buyer); a.Outcome != checker.Accepted &&
					a.Outcome != checker.Held {
					err = fmt.Errorf("server %d: %s", i, a)
				}
			}
			return err
		})
		r.Logf("%s: mended after %v", nonsense.name, time.Since(start).Round(time.Millisecond))
		bad.BuyAll(r.Context(), 3, early)
		r.awaitAccepted(20) // the other sales go on
	}
	other.BuyAll(r.Context(), 20, users(50))
	r.faultEnded()
	r.finish()
	r.site.Check(r, bad, 1000)
	r.site.Check(r, other, 1000)
	if epoch, err := r.site.Ledger.Epoch(r.Context(), other.Voucher); err != nil || epoch != 1 {
		r.Errorf("the third sale is at epoch %d (%v): it was rebuilt", epoch, err)
	}
	if n := r.buyers.Record.Counts()["later PAUSED"]; n > 0 {
		r.Errorf("%d buyers of another sale were told to come later", n)
	}
}

// keepWriting writes text under the key all the time while f runs, so that nobody can repair it.
func (r *run) keepWriting(key string, f func()) {
	r.Helper()
	ctx, stop := context.WithCancel(r.Context())
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for ctx.Err() == nil {
			_ = r.site.Redis.Set(ctx, key, "x", 0).Err()
			select {
			case <-ctx.Done():
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	f()
	stop()
	<-stopped
}

// mended returns what is still wrong with a sale of 1,000 units in Redis.
func (r *run) mended(voucher int64) error {
	v, err := r.site.Redis.HMGet(r.Context(), r.site.Redis.SaleKey(voucher), "mode", "stock", "building").Result()
	if err != nil {
		return err
	}
	holders, err := r.site.Redis.HGetAll(r.Context(), r.site.Redis.BuyersKey(voucher)).Result()
	if err != nil {
		return err
	}
	if holders["999999"] == "xyz" || holders["nobody"] != "" {
		return fmt.Errorf("there are holders that cannot be read")
	}
	stock, _ := v[1].(string)
	if n, _ := strconv.Atoi(stock); v[0] != "open" || v[2] != "0" || n+len(holders) != 1000 {
		return fmt.Errorf("the sale is %v, with %d holders", v, len(holders))
	}
	return nil
}

// manyEndedSales restarts Redis while it holds thousands of ended sales and a running one, the last of them all. That
// one sells again as if it were alone, and the others are repaired after it.
func manyEndedSales(r *run) {
	r.rebuilt = true // by instances that notice the restart of Redis
	r.open(deployment{instances: r.sized(2, 1), units: 20})
	now := time.Now()
	n := r.sized(5000, 600)
	ended := r.insertSales(n, now.Add(-2*time.Hour), now.Add(-time.Hour))
	r.units = int64(r.sized(16000, 6000))
	r.buyers = r.site.Buyers(r.site.CreateSale(r, r.units, now.Add(time.Hour)))
	r.buyers.BuyAll(r.Context(), 16, r.newUsers(200))
	took, all := r.restartedWith(ended)
	const limit = 3 * time.Second // for the full size, on an otherwise idle machine
	if r.full && took > limit {
		r.Errorf("with %d ended sales, the running one sold again after %v, want %v", n, took, limit)
	}
	// A sale that is repaired after the others takes as long as they do. So does one whose buyers come late, as a busy
	// machine may have it, but hardly three times in a row.
	late := func() bool { return took > all*3/4 }
	for tries := 1; late() && tries < 3; tries++ {
		took, all = r.restartedWith(ended)
	}
	if late() {
		r.Errorf("with %d ended sales, the running one sold again after %v, and all of them were repaired after %v",
			n, took, all)
	}
	r.faultEnded() // that of the sale which the checker checks ended long ago
	r.load(16, 20*time.Millisecond)
	r.awaitAccepted(50)
	r.finish()
}

// restartedWith restarts Redis, and returns how long it took until the running sale sold again, and until all sales
// were repaired.
func (r *run) restartedWith(ended []int64) (took, all time.Duration) {
	r.Helper()
	epoch := func() (text string, err error) {
		sale, err := r.site.Redis.HMGet(r.Context(), r.site.Redis.SaleKey(ended[0]), "epoch", "building").Result()
		return fmt.Sprint(sale...), err
	}
	before, err := epoch()
	r.must(err)
	r.redis.Kill()
	r.redis.Start()
	up := time.Now()
	// Its buyers come only once a sweep has found all sales, so that it does not enter the queue before the others.
	box.Eventually(r, "the rebuild of an ended sale", func() error {
		now, err := epoch()
		if err == nil && now == before {
			err = fmt.Errorf("it has not begun")
		}
		return err
	})
	r.buyers.BuyAll(r.Context(), 16, r.newUsers(16))
	took = time.Since(up)
	r.awaitRepaired(time.Duration(r.sized(10, 2)) * time.Minute)
	all = time.Since(up)
	r.Logf("with %d ended sales, the running one sold again after %v, and all were repaired after %v", len(ended),
		took.Round(time.Millisecond), all.Round(time.Millisecond))
	return took, all
}

// unitsByHand adds units by hand to one of a thousand sales in Redis while a long backlog waits: that is found and
// repaired, and the ledger is busy for a tenth of the time at most.
func unitsByHand(r *run) {
	n, backlog := r.sized(1000, 100), r.sized(100_000, 3000)
	r.within = 2 * time.Minute
	r.open(deployment{instances: 1, units: int64(backlog + 5000)})
	ids := r.insertSales(n-1, time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	release := r.site.Ledger.LockSale(r, r.buyers.Voucher)
	r.load(128, 0)
	for range 10 {
		r.awaitAccepted(backlog / 10)
	}
	r.endLoad()
	busy, since := r.ledgerBusy(), time.Now()
	sale := r.site.Redis.SaleKey(ids[r.rand.IntN(len(ids))])
	r.must(r.site.Redis.HIncrBy(r.Context(), sale, "stock", 50).Err())
	start := time.Now()
	box.Eventually(r, "mending the sale", func() error {
		stock, err := r.site.Redis.HGet(r.Context(), sale, "stock").Int()
		if err == nil && stock != 100 {
			err = fmt.Errorf("it has %d units, want 100", stock)
		}
		return err
	})
	took := time.Since(start)
	if r.full && took > 30*time.Second {
		r.Errorf("mended after %v, want 30s", took)
	}
	if rest := 30*time.Second - time.Since(since); r.full && rest > 0 {
		time.Sleep(rest) // several passes of the audit
	}
	share := (r.ledgerBusy() - busy).Seconds() / time.Since(since).Seconds()
	r.Logf("%d sales, %d orders wait: mended after %v; the ledger worked %.1f %% of the time",
		n, backlog, took.Round(time.Millisecond), 100*share)
	if r.full && share > 0.1 {
		r.Errorf("the ledger worked %.1f %% of the time, want 10 %% at most", 100*share)
	}
	release()
	r.faultEnded()
	r.finish()
}

// ledgerBusy returns how long the database's processors have worked, for all clients.
func (r *run) ledgerBusy() time.Duration {
	r.Helper()
	_, err := r.site.Ledger.DB.ExecContext(r.Context(), "SET GLOBAL userstat = 1")
	r.must(err)
	var seconds float64
	r.must(r.site.Ledger.DB.QueryRowContext(r.Context(),
		"SELECT COALESCE(SUM(CPU_TIME), 0) FROM information_schema.USER_STATISTICS").Scan(&seconds))
	return time.Duration(seconds * float64(time.Second))
}

// mixed causes three faults of the seed's choice, one after the other. Whatever they are, nothing may be oversold, and
// every order is settled.
func mixed(r *run) {
	r.rebuilt = true
	r.within = time.Minute
	r.open(deployment{units: 30_000})
	r.load(32, 20*time.Millisecond)
	rdb, ctx := r.site.Redis, r.Context()
	faults := []struct {
		name string
		do   func()
	}{
		{"an instance killed", func() { r.must(r.site.Servers[r.victim()].KillAndStart()) }},
		{"Redis killed", func() { r.redis.Kill(); r.redis.Start() }},
		{"MySQL killed", func() { r.mysql.Kill(); r.mysql.Start() }},
		{"Redis emptied", func() { r.must(rdb.FlushAll(ctx).Err()) }},
		{"the stream trimmed", func() { r.must(rdb.XTrimMaxLen(ctx, rdb.StreamKey(), 0).Err()) }},
		{"the group destroyed", func() { r.must(rdb.XGroupDestroy(ctx, rdb.StreamKey(), box.RecorderGroup).Err()) }},
		{"the scripts forgotten", func() { r.must(rdb.ScriptFlush(ctx).Err()) }},
		{"connections killed", func() { r.must(rdb.ClientKillByFilter(ctx, "TYPE", "normal", "SKIPME", "yes").Err()) }},
		{"the sale of another type", func() { r.must(rdb.Set(ctx, rdb.SaleKey(r.buyers.Voucher), "x", 0).Err()) }},
		{
			"a holder of nothing",
			func() { r.must(rdb.HSet(ctx, rdb.BuyersKey(r.buyers.Voucher), "999999", "xyz").Err()) },
		},
		{"units by hand", func() { r.must(rdb.HIncrBy(ctx, rdb.SaleKey(r.buyers.Voucher), "stock", -20).Err()) }},
	}
	for range 3 {
		fault := faults[r.rand.IntN(len(faults))]
		r.awaitAccepted(100 + r.rand.IntN(100))
		r.Logf("fault: %s", fault.name)
		fault.do()
	}
	r.faultEnded()
	r.awaitAccepted(100)
	r.finish()
}

// quantities lets buyers of one and of three units buy while Redis is emptied, an instance killed, and MySQL killed, in
// this order: killing the instance first would lose what it remembers for the loss of Redis. All sums are in units.
func quantities(r *run) {
	r.rebuilt = true
	r.open(deployment{perUser: 3, units: 12_000})
	three := *r.buyers
	three.Units = 3
	r.load(8, 50*time.Millisecond)
	r.loadOf(&three, 8, 50*time.Millisecond)
	r.awaitAccepted(200)
	r.must(r.site.Redis.FlushAll(r.Context()).Err())
	r.awaitAccepted(100)
	n := r.victim()
	r.killAt(n, r.proxies[n].mysql, commitSent())
	r.must(r.site.Servers[n].Start())
	r.awaitAccepted(100)
	r.mysql.Kill()
	r.mysql.Start()
	r.faultEnded()
	r.awaitAccepted(100)
	r.finish()
}
