package faults

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"seckill/internal/testkit"
	"seckill/internal/testkit/server"
	"seckill/test/box"
)

// mysqlKilled kills MySQL during a commit and starts it again while buyers are still accepted.
func mysqlKilled(r *run) {
	r.open(deployment{units: 8000})
	r.load(32, 30*time.Millisecond)
	r.awaitAccepted(300)
	r.mysqlKilled(500)
	r.finish()
}

// mysqlKilled kills MySQL at a COMMIT, and starts it again once n more purchases are accepted.
func (r *run) mysqlKilled(n int) {
	r.Helper()
	b := r.proxies[r.victim()].mysql.Break(commitSent())
	r.await("a commit", b.Reached())
	r.mysql.Kill()
	b.Cut()
	r.awaitAccepted(n) // Redis still admits
	r.mysql.Start()
	r.faultEnded()
}

// mysql9Killed is mysqlKilled on MySQL 9, twice, after three instances have migrated its empty schema at once.
func mysql9Killed(r *run) {
	r.Setenv(server.EnvMySQLProgram, "mysql9")
	r.open(deployment{units: 8000})
	r.Logf("on %s", r.mysqlName())
	r.load(32, 30*time.Millisecond)
	for range 2 {
		r.awaitAccepted(300)
		r.mysqlKilled(300)
	}
	r.awaitAccepted(100)
	r.finish()
}

// mysqlSlow delays every answer of MySQL by three seconds, then blocks all traffic for a while, then breaks all
// connections. Buyers are accepted all the time.
func mysqlSlow(r *run) {
	r.open(deployment{units: 12_000})
	r.load(16, 100*time.Millisecond)
	r.awaitAccepted(200)
	for _, p := range r.proxies {
		p.mysql.Delay(3 * time.Second / 2) // in each direction
	}
	<-time.After(10 * time.Second)
	r.awaitAccepted(50)
	for _, p := range r.proxies {
		p.mysql.Blackhole()
	}
	<-time.After(10 * time.Second)
	r.awaitAccepted(50)
	for _, p := range r.proxies {
		p.mysql.Reset()
		p.mysql.Heal()
	}
	r.faultEnded()
	r.finish()
}

// readOnlyError is the error number of a read-only server.
const readOnlyError = "1290"

// mysqlReadOnly makes MySQL read-only, as during a failover, for users without the right to ignore that.
func mysqlReadOnly(r *run) {
	r.open(deployment{units: 8000, plainUser: true})
	r.refuseWrites(readOnlyError, func() { r.setReadOnly(1) }, func() { r.setReadOnly(0) })
}

func (r *run) setReadOnly(on int) {
	r.Helper()
	_, err := r.site.Ledger.DB.ExecContext(r.Context(), "SET GLOBAL read_only = ?", on)
	r.must(err)
}

// mysqlDiskFull leaves MySQL no room for another row.
func mysqlDiskFull(r *run) {
	r.open(deployment{units: 16_000, mysqlDisk: 128, mysql: []string{"--innodb-log-file-size=8M"}})
	r.refuseWrites("1114", func() { r.must(r.mysql.FillDisk()) }, func() { r.must(r.mysql.FreeDisk()) })
}

// refuseWrites makes MySQL refuse writes with this error number, and ends that. Redis accepts orders meanwhile, and
// they do not suffer: none fails, none becomes a dead letter, and all are recorded once MySQL takes writes. Requests
// that need MySQL are refused with the advice to retry.
func (r *run) refuseWrites(number string, begin, end func()) {
	r.Helper()
	r.load(24, 30*time.Millisecond)
	for range 2 {
		r.awaitAccepted(300)
		before := r.logged("Error " + number)
		begin()
		r.awaitLogged("Error "+number, before+5)
		draft := box.SeckillDraft(1, 10, time.Now(), time.Now().Add(time.Hour))
		reply, err := r.site.Client.Do(r.Context(), box.Request{
			Method: http.MethodPost, URL: r.site.URL("/voucher/seckill"), Token: box.AdminToken(), Body: draft,
		})
		r.must(err)
		if reply.StatusCode != http.StatusServiceUnavailable && (number == readOnlyError ||
			reply.StatusCode != http.StatusCreated) {
			r.Errorf("a new voucher is answered %d: %s, want 503, or 201 where its page has room",
				reply.StatusCode, reply.Body)
		}
		r.awaitAccepted(100)
		end()
		r.faultEnded()
	}
	r.finish()
}

// lockWait locks the sale's row for longer than the instances wait for it. The server rolls back only the statement
// that waited; the rest of the transaction must not be committed without it.
func lockWait(r *run) {
	r.open(deployment{settings: map[string]string{"SECKILL_MYSQL_TIMEOUT": "2s"}}) // half of it for a lock
	r.load(16, 50*time.Millisecond)
	r.awaitAccepted(200)
	for i := range 2 {
		release := r.site.Ledger.LockSale(r, r.buyers.Voucher)
		r.awaitCounted("lock_timeouts", i+1)
		release()
		r.faultEnded()
		r.awaitAccepted(50)
	}
	r.finish()
}

// deadlock locks the sale's row and then wants the rows that recorders have just inserted, while these want the sale's
// row. MySQL ends the transaction that has written less, which is the recorder's.
func deadlock(r *run) {
	r.open(deployment{units: 16000}) // a recorder that already waits for the row may delay the next deadlock by 5 s
	r.load(16, 50*time.Millisecond)
	r.awaitAccepted(200)
	db := r.site.Ledger.DB
	_, err := db.ExecContext(r.Context(), "CREATE TABLE weight (n INT)")
	r.must(err)
	for i := range 5 {
		// A recorder may give up before it wants the row. A deadlock is counted before the statement returns.
		box.Eventually(r, "a deadlock", func() error {
			tx, err := db.BeginTx(r.Context(), nil)
			r.must(err)
			r.must(r.deadlockOnce(tx))
			r.must(tx.Rollback())
			return r.counted("lock_deadlocks", i+1)
		})
		r.faultEnded()
		r.awaitAccepted(50)
	}
	r.finish()
}

// deadlockOnce causes one deadlock with the recorder that commits next.
func (r *run) deadlockOnce(tx *sql.Tx) error {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), box.Patience)
	defer cancel()
	_, errWeight := tx.ExecContext(ctx, "INSERT INTO weight SELECT seq FROM seq_1_to_20000")
	_, errSale := tx.ExecContext(ctx, "SELECT stock FROM tb_seckill_voucher WHERE voucher_id = ? FOR UPDATE",
		r.buyers.Voucher)
	if err := errors.Join(errWeight, errSale); err != nil {
		return err
	}
	b := r.proxies[r.victim()].mysql.Break(testkit.Match{Text: "update tb_seckill_voucher set stock = stock -"})
	r.await("a recorder that wants the sale's row", b.Reached())
	b.Release()
	_, err := tx.ExecContext(ctx, "SELECT id FROM tb_voucher_order WHERE voucher_id = ? FOR UPDATE", r.buyers.Voucher)
	return err
}

// awaitCounted waits until a counter of MySQL shows that the fault has happened n times.
func (r *run) awaitCounted(name string, times int) {
	r.Helper()
	box.Eventually(r, fmt.Sprintf("%d %s", times, name), func() error { return r.counted(name, times) })
}

// counted returns an error unless a counter of MySQL has come to a number.
func (r *run) counted(name string, times int) error {
	var n int
	err := r.site.Ledger.DB.QueryRowContext(r.Context(),
		"SELECT count FROM information_schema.innodb_metrics WHERE name = ?", name).Scan(&n)
	if err == nil && n < times {
		err = fmt.Errorf("%d so far", n)
	}
	return err
}

// awaitLogged waits until the instances have logged a text that often.
func (r *run) awaitLogged(text string, times int) {
	r.Helper()
	box.Eventually(r, fmt.Sprintf("%q in the logs", text), func() error {
		if n := r.logged(text); n < times {
			return fmt.Errorf("logged %d times, want %d", n, times)
		}
		return nil
	})
}

// logged returns how often the instances have logged a text.
func (r *run) logged(text string) (n int) {
	for _, srv := range r.site.Servers {
		n += strings.Count(srv.Log.String(), text)
	}
	return n
}
