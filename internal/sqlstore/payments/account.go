package payments

import (
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"

	"seckill/internal/order"
	"seckill/internal/order/payment"
	"seckill/internal/sqlstore/sqlkit"
)

// Account is a locked payment with its refunds, which Keep writes.
type Account struct {
	payment.Account
	Row    *Row
	Before payment.Flow // what had moved when the account was opened
	stored []payment.Refund
}

// Open returns a locked payment's account.
func Open(tx *gorm.DB, p *Row, now time.Time) (*Account, error) {
	found, err := refundsOf(tx, []string{p.ID})
	if err != nil {
		return nil, err
	}
	a := &Account{Row: p, stored: found[p.ID], Before: p.Payment().Flow}
	a.Account = payment.Account{Payment: p.Payment(), Refunds: slices.Clone(a.stored)}
	a.Adopt(now)
	return a, nil
}

// Accounts returns the payments of orders with their refunds, by order, the oldest first.
func Accounts(tx *gorm.DB, orders []int64) (map[int64][]payment.Account, error) {
	all := make(map[int64][]payment.Account, len(orders))
	for part := range sqlkit.Chunks(orders) {
		var rows []Row
		err := tx.Where("order_id IN ?", part).Order("order_id, create_time, number").Find(&rows).Error
		if err != nil {
			return nil, fmt.Errorf("reading the payments of %d orders: %w", len(part), err)
		}
		var taken []string // payments that may have refunds
		for i := range rows {
			if rows[i].State != payment.Open || rows[i].Returned > 0 {
				taken = append(taken, rows[i].ID)
			}
		}
		found, err := refundsOf(tx, taken)
		if err != nil {
			return nil, err
		}
		for i := range rows {
			all[rows[i].OrderID] = append(all[rows[i].OrderID],
				payment.Account{Payment: rows[i].Payment(), Refunds: found[rows[i].ID]})
		}
	}
	return all, nil
}

// Keep writes the account's refunds. some: there are some, which the locked order says, too. The payment's row, which
// has their sum from then on, is the caller's to save.
func (a *Account) Keep(tx *gorm.DB) (some bool, err error) {
	if err := saveRefunds(tx, a.stored, a.Refunds); err != nil {
		return false, err
	}
	a.stored, a.Row.Returned = slices.Clone(a.Refunds), a.Returned
	return len(a.Refunds) > 0, nil
}

// Moved notes that money has gone back now, or come back, for the sums of the day since midnight, if that is other than
// when the account was opened.
func (a *Account) Moved(now, midnight time.Time) {
	r, before := a.Row, a.Before
	after := r.Payment().Flow
	if after.Gone() != before.Gone() {
		if r.ReturnTime == nil || r.ReturnTime.Before(midnight) {
			r.GoneBefore = before.Gone()
		}
		r.ReturnTime = &now
	}
	if after.Lost() != before.Lost() {
		if r.LostTime == nil || r.LostTime.Before(midnight) {
			r.LostBefore = before.Lost()
		}
		r.LostTime = &now
	}
}

// Sent prepares a refund for its provider; "" is the one of all that is left, which is made if a version without
// refunds has asked for it. If nothing is left to send, it is due, without an amount.
func (a *Account) Sent(id string, alone bool, now time.Time) (payment.Refund, bool) {
	if id != "" {
		if r, ask := a.Send(id, alone, now); ask {
			return *r, true
		}
		return payment.Refund{}, false
	}
	for range 2 { // one that can no longer be sent is given up, and another one takes its place
		all := a.AskAgain(alone, string(order.ByService), "", now)
		if all == nil {
			return payment.Refund{}, a.AllGone()
		}
		if r, ask := a.Send(all.ID, alone, now); ask {
			return *r, true
		}
	}
	return payment.Refund{}, a.AllGone()
}

// RefusedAll returns the last refund of all that was left if it has failed, and nobody has seen to it; else nil.
func (a *Account) RefusedAll() *payment.Refund {
	if r := a.All(); r != nil && r.NeedsStaff() {
		return r
	}
	return nil
}
