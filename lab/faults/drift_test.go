package faults

import (
	"fmt"

	"github.com/redis/go-redis/v9"

	"seckill/internal/checker"
	"seckill/test/box"
)

// Scenarios in which one store contradicts the other, because somebody changed it by hand or it has lost data.

// lowerStock removes units from the ledger in a transaction that the returned function commits. Until then no order of
// the sale can be recorded.
func (r *run) lowerStock(units int64) (commit func()) {
	r.Helper()
	tx, err := r.site.Ledger.DB.BeginTx(r.Context(), nil)
	r.must(err)
	r.Cleanup(func() { _ = tx.Rollback() }) // it is committed by then
	_, err = tx.ExecContext(r.Context(),
		"UPDATE tb_seckill_voucher SET stock = stock - ?, issued = issued - ? WHERE voucher_id = ?",
		units, units, r.buyers.Voucher)
	r.must(err)
	return func() {
		r.Helper()
		r.must(tx.Commit())
		r.units -= units
	}
}

// failed returns how many orders of the sale failed, and how many of those for another reason.
func (r *run) failed(reason string) (all, otherwise int) {
	r.Helper()
	rows, err := r.site.Ledger.Orders(r.Context(), r.buyers.Voucher)
	r.must(err)
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

// expectFailed fails the scenario unless least to most orders failed, all for the given reason.
func (r *run) expectFailed(least, most int, reason string) {
	r.Helper()
	if all, otherwise := r.failed(reason); all < least || all > most || otherwise > 0 {
		r.Errorf("%d orders failed, %d of them not for %s; want %d to %d", all, otherwise, reason, least, most)
	}
}

// ledgerShortWhenSold lets Redis sell units that the ledger does not have: as many orders fail, and no others after
// that.
func ledgerShortWhenSold(r *run) {
	const missing = 200
	r.open(deployment{units: 1000})
	r.loss = true
	r.buyers.BuyAll(r.Context(), 50, r.newUsers(300))
	commit := r.lowerStock(missing)
	r.buyers.BuyAll(r.Context(), 50, r.newUsers(900))
	if n := len(r.buyers.Record.Winners()); n != 1000 { // some may have asked again
		r.Fatalf("%d have got an order, want all 1000: %v", n, r.buyers.Record.Counts())
	}
	commit()
	r.faultEnded()
	r.finish()
	r.expectFailed(missing, missing, "NO_STOCK")
	r.buyers.BuyAll(r.Context(), 50, r.newUsers(100))
	r.awaitSettled()
	r.expectFailed(missing, missing, "NO_STOCK")
}

// ledgerShortAtRest removes units while nobody buys: the audit finds that before any order fails.
func ledgerShortAtRest(r *run) {
	const missing = 200
	r.open(deployment{units: 1000})
	r.rebuilt = true // to the ledger's stock
	r.buyers.BuyAll(r.Context(), 50, r.newUsers(300))
	r.awaitSettled()
	r.lowerStock(missing)()
	r.faultEnded()
	box.Eventually(r, "the rebuild of the sale", func() error {
		v, err := r.site.Redis.Sale(r.Context(), r.buyers.Voucher)
		if err == nil && v.Stock != r.units-300 {
			err = fmt.Errorf("redis has %d units left, want %d", v.Stock, r.units-300)
		}
		return err
	})
	r.buyers.BuyAll(r.Context(), 50, r.newUsers(600))
	r.finish()
	r.expectFailed(0, 0, "")
	r.awaitLogged("units of a sale are not accounted for", 1)
}

// holdersLost removes all holders from Redis: buyers with a recorded order are admitted again, but must not get a
// second order.
func holdersLost(r *run) {
	r.open(deployment{units: 1000})
	r.loss = true
	users := r.newUsers(300)
	r.buyers.BuyAll(r.Context(), 50, users)
	r.awaitSettled()
	first := r.buyers.Record.Winners()
	r.must(r.site.Redis.Del(r.Context(), r.site.Redis.BuyersKey(r.buyers.Voucher)).Err())
	r.buyers.BuyAll(r.Context(), 50, users)
	r.faultEnded()
	r.awaitSettled()
	for _, user := range users[:50] {
		if a := r.buyers.BuyUntilAnswered(r.Context(), user); a.Outcome != checker.Held || a.Order != first[user] {
			r.Errorf("user %d has order %d and is answered: %s", user, first[user], a)
		}
	}
	r.finish()
	r.expectFailed(1, len(users), "DUPLICATE_BUYER")
}

// idTaken gives a buyer's order id to another user's order before the buyer's is recorded. The buyer loses the order,
// and may buy again.
func idTaken(r *run) {
	r.open(deployment{instances: 1, units: 40})
	r.loss = true
	r.buyers.BuyAll(r.Context(), 4, r.newUsers(20))
	r.awaitSettled()
	b := r.proxies[0].mysql.Break(batchSent())
	user := r.newUsers(1)[0]
	a := r.buyers.BuyUntilAnswered(r.Context(), user)
	r.await("the order's row on its way", b.Reached())
	_, err := r.site.Ledger.DB.ExecContext(r.Context(),
		"INSERT INTO tb_voucher_order (id, user_id, voucher_id, kind, amount, status, create_time) "+
			"VALUES (?, 999, 999, 0, 1, 2, UTC_TIMESTAMP(3))", a.Order)
	r.must(err)
	b.Release()
	r.faultEnded()
	r.awaitSettled()
	r.expectFailed(1, 1, "ID_COLLISION")
	again := r.buyers.BuyUntilAnswered(r.Context(), user)
	if again.Outcome != checker.Accepted || again.Order == a.Order {
		r.Errorf("the buyer who lost order %d buys again and is answered: %s", a.Order, again)
	}
	r.must(r.site.Redis.XAdd(r.Context(), &redis.XAddArgs{Stream: r.site.Redis.StreamKey(), Values: []any{
		"v", r.buyers.Voucher, "u", user, "o", a.Order, "e", 1, "s", 1,
	}}).Err()) // its entry is delivered again
	r.finish()
	r.expectFailed(1, 1, "ID_COLLISION")
	r.expectNoRebuild()
	var owner int64
	r.must(r.site.Ledger.DB.QueryRowContext(r.Context(), "SELECT user_id FROM tb_voucher_order WHERE id = ?",
		a.Order).Scan(&owner))
	if owner != 999 {
		r.Errorf("the order is user %d's", owner)
	}
}
