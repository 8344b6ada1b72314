package test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"seckill/internal/testkit"
)

// mysqlKilled kills MySQL in the middle of recording and starts it again while buyers go on being accepted.
func mysqlKilled(d *drill) {
	d.open(deployment{units: 8000})
	d.load(32, 30*time.Millisecond)
	d.traffic(300)
	c := d.wires[d.victim()].mysql.Catch(commitSent())
	d.await("a commit", c.Caught())
	d.mysql.Kill()
	c.Cut()
	d.traffic(500) // Redis goes on admitting
	d.heal()
	d.mysql.Start()
	d.finish()
}

// mysqlSlow makes every answer of MySQL three seconds late, lets nothing pass at all for a while, and breaks all
// connections in the end. Buyers are accepted all the while.
func mysqlSlow(d *drill) {
	d.open(deployment{units: 12_000})
	d.load(16, 100*time.Millisecond)
	d.traffic(200)
	for _, w := range d.wires {
		w.mysql.Delay(3 * time.Second / 2) // in each direction
	}
	<-time.After(10 * time.Second)
	d.traffic(50)
	for _, w := range d.wires {
		w.mysql.Blackhole()
	}
	<-time.After(10 * time.Second)
	d.traffic(50)
	for _, w := range d.wires {
		w.mysql.Reset()
		w.mysql.Heal()
	}
	d.heal()
	d.finish()
}

// lockWait keeps the sale's row locked for longer than the instances wait for it. Only the statement that waited is
// rolled back by the server; the rest of the transaction must not be committed without it.
func lockWait(d *drill) {
	d.open(deployment{settings: map[string]string{"SECKILL_MYSQL_TIMEOUT": "2s"}}) // half of it for a lock
	d.load(16, 50*time.Millisecond)
	d.traffic(200)
	for i := range 2 {
		release := d.site.ledger.hold(d, d.crowd.voucher)
		d.awaitCounted("lock_timeouts", i+1)
		release()
		d.heal()
		d.traffic(50)
	}
	d.finish()
}

// deadlock stands in the recorders' way, crosswise: it locks the sale's row and then wants the rows that they have
// just inserted, while they want the sale's. MySQL ends the transaction that has written less, which is theirs.
func deadlock(d *drill) {
	d.open(deployment{units: 16000}) // a recorder that already wanted the row may hold the next deadlock up for 5 s
	d.load(16, 50*time.Millisecond)
	d.traffic(200)
	db := d.site.ledger.db
	_, err := db.ExecContext(d.Context(), "CREATE TABLE weight (n INT)")
	d.must(err)
	for i := range 5 {
		tx, err := db.BeginTx(d.Context(), nil)
		d.must(err)
		d.must(d.cross(tx))
		d.must(tx.Rollback())
		d.heal()
		d.awaitCounted("lock_deadlocks", i+1)
		d.traffic(50)
	}
	d.finish()
}

// cross makes one deadlock with whoever records next.
func (d *drill) cross(tx *sql.Tx) error {
	d.Helper()
	ctx, cancel := context.WithTimeout(d.Context(), patience)
	defer cancel()
	_, errWeight := tx.ExecContext(ctx, "INSERT INTO weight SELECT seq FROM seq_1_to_20000")
	_, errSale := tx.ExecContext(ctx, "SELECT stock FROM tb_seckill_voucher WHERE voucher_id = ? FOR UPDATE", d.crowd.voucher)
	if err := errors.Join(errWeight, errSale); err != nil {
		return err
	}
	c := d.wires[d.victim()].mysql.Catch(testkit.Moment{Text: "update tb_seckill_voucher set stock = stock -"})
	d.await("a recorder that wants the sale's row", c.Caught())
	c.Release()
	_, err := tx.ExecContext(ctx, "SELECT id FROM tb_voucher_order WHERE voucher_id = ? FOR UPDATE", d.crowd.voucher)
	return err
}

// awaitCounted waits until MySQL has counted something so many times: what was to happen has happened.
func (d *drill) awaitCounted(name string, times int) {
	d.Helper()
	eventually(d, fmt.Sprintf("%d %s", times, name), func() error {
		var n int
		err := d.site.ledger.db.QueryRowContext(d.Context(), "SELECT count FROM information_schema.innodb_metrics WHERE name = ?", name).Scan(&n)
		if err == nil && n < times {
			err = fmt.Errorf("%d so far", n)
		}
		return err
	})
}

// awaitLogged waits until the instances have logged a text so many times: what was to happen to them has happened.
func (d *drill) awaitLogged(text string, times int) {
	d.Helper()
	eventually(d, fmt.Sprintf("%q in the logs", text), func() error {
		n := 0
		for _, srv := range d.site.servers {
			n += strings.Count(srv.log.String(), text)
		}
		if n < times {
			return fmt.Errorf("it is there %d times, want %d", n, times)
		}
		return nil
	})
}
