package test

import (
	"fmt"

	"seckill/internal/checker"
)

// What becomes of a sale when one store contradicts the other, because somebody has changed it by hand or it has lost
// something.

// takeAway lowers what the ledger has of the sale, in a transaction that the returned function commits. Until then
// nothing of the sale can be recorded.
func (d *drill) takeAway(units int64) (commit func()) {
	d.Helper()
	tx, err := d.site.ledger.db.BeginTx(d.Context(), nil)
	d.must(err)
	d.Cleanup(func() { _ = tx.Rollback() }) // it has been committed
	_, err = tx.ExecContext(d.Context(), "UPDATE tb_seckill_voucher SET stock = stock - ?, issued = issued - ? WHERE voucher_id = ?",
		units, units, d.crowd.voucher)
	d.must(err)
	return func() {
		d.Helper()
		d.must(tx.Commit())
		d.units -= units
	}
}

// failed returns how many orders of the sale failed, and of these for another reason than the given one.
func (d *drill) failed(reason string) (all, otherwise int) {
	d.Helper()
	rows, err := d.site.ledger.orders(d.Context(), d.crowd.voucher)
	d.must(err)
	for _, o := range rows {
		if o.Status != checker.Failed {
			continue
		}
		all++
		if o.Reason != reason {
			otherwise++
		}
	}
	return all, otherwise
}

// expectFailed fails the drill unless so many orders failed, for the given reason.
func (d *drill) expectFailed(least, most int, reason string) {
	d.Helper()
	if all, otherwise := d.failed(reason); all < least || all > most || otherwise > 0 {
		d.Errorf("%d orders failed, %d of them not for %s; want %d to %d", all, otherwise, reason, least, most)
	}
}

// ledgerShort has Redis sell units that the ledger does not have: as many orders fail, and then nobody is accepted in vain
// any more.
func ledgerShort(d *drill) {
	const missing = 200
	d.open(deployment{units: 1000})
	d.loss = true
	d.crowd.rush(d.Context(), 50, d.people(300))
	commit := d.takeAway(missing)
	d.crowd.rush(d.Context(), 50, d.people(900))
	if n := d.crowd.record.acceptedCount(); n != 1000 {
		d.Fatalf("%d accepted, want all 1000: %v", n, d.crowd.record.tally())
	}
	commit()
	d.heal()
	d.finish()
	d.expectFailed(missing, missing, "NO_STOCK")
	d.crowd.rush(d.Context(), 50, d.people(100))
	d.settled()
	d.expectFailed(missing, missing, "NO_STOCK")
}

// ledgerShortAtRest is found before anybody is accepted in vain.
func ledgerShortAtRest(d *drill) {
	const missing = 200
	d.open(deployment{units: 1000})
	d.rebuilt = true // to what the ledger has
	d.crowd.rush(d.Context(), 50, d.people(300))
	d.settled()
	d.takeAway(missing)()
	d.heal()
	eventually(d, "the rebuild of the sale", func() error {
		v, err := d.site.live.view(d.Context(), d.crowd.voucher)
		if err == nil && v.stock != d.units-300 {
			err = fmt.Errorf("redis has %d units left, want %d", v.stock, d.units-300)
		}
		return err
	})
	d.crowd.rush(d.Context(), 50, d.people(600))
	d.finish()
	d.expectFailed(0, 0, "")
	d.awaitLogged("units of a sale are not accounted for", 1)
}

// buyersForgotten removes all places from Redis: who has a recorded order is let in again, and must not get a second one.
func buyersForgotten(d *drill) {
	d.open(deployment{units: 1000})
	d.loss = true
	users := d.people(300)
	d.crowd.rush(d.Context(), 50, users)
	d.settled()
	first := d.crowd.record.winners()
	d.must(d.site.live.rdb.Del(d.Context(), d.site.live.buyersKey(d.crowd.voucher)).Err())
	d.crowd.rush(d.Context(), 50, users)
	d.heal()
	d.settled()
	for _, user := range users[:50] {
		if a := d.crowd.insist(d.Context(), user); a.verdict != held || a.order != first[user] {
			d.Errorf("user %d has order %d and is told: %s", user, first[user], a)
		}
	}
	d.finish()
	d.expectFailed(1, len(users), "DUPLICATE_BUYER")
}

// idTaken gives a buyer's order id to an order of somebody else, before his can be recorded. He loses it, and may buy
// again.
func idTaken(d *drill) {
	d.open(deployment{instances: 1, units: 40})
	d.loss = true
	d.crowd.rush(d.Context(), 4, d.people(20))
	d.settled()
	c := d.wires[0].mysql.Catch(batchSent())
	user := d.people(1)[0]
	a := d.crowd.insist(d.Context(), user)
	d.await("his row on its way", c.Caught())
	_, err := d.site.ledger.db.ExecContext(d.Context(), "INSERT INTO tb_voucher_order (id, user_id, voucher_id, kind, amount, status, create_time) "+
		"VALUES (?, 999, 999, 0, 1, 2, UTC_TIMESTAMP(3))", a.order)
	d.must(err)
	c.Release()
	d.heal()
	d.settled()
	d.expectFailed(1, 1, "ID_COLLISION")
	again := d.crowd.insist(d.Context(), user)
	if again.verdict != accepted || again.order == a.order {
		d.Errorf("who lost order %d buys again and is told: %s", a.order, again)
	}
	d.finish()
	d.expectNoRebuild()
	var claims, owner int64
	d.must(d.site.ledger.db.QueryRowContext(d.Context(), "SELECT (SELECT COUNT(*) FROM tb_order_collision WHERE claim_id = ?), user_id "+
		"FROM tb_voucher_order WHERE id = ?", a.order, a.order).Scan(&claims, &owner))
	if claims != 1 || owner != 999 {
		d.Errorf("%d collisions are noted, and the order is user %d's", claims, owner)
	}
}
