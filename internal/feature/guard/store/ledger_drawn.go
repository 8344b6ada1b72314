package store

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"

	"seckill/internal/feature/guard/draw"
	"seckill/internal/order"
	"seckill/internal/sqlstore/sqlkit"
)

// Draws returns all draws that a sale has had, the first one first.
func (l *Ledger) Draws(ctx context.Context, voucherID int64) ([]DrawRow, error) {
	return sqlkit.List(l.db.Read(ctx).Where("voucher_id = ?", voucherID).Order("number"),
		fmt.Sprintf("reading the draws of voucher %d", voucherID), func(d *DrawRow) DrawRow { return *d })
}

// Entrant is an entry, and the first order of its user.
type Entrant struct {
	Hash    draw.Hash
	Outcome string    // as draw.Entrant's
	Decided time.Time // zero if there is no order
}

// Entrants returns entries of a draw with a hash above after, in the order of their hashes, at most n.
func (l *Ledger) Entrants(ctx context.Context, voucherID, number int64, after []byte, n int) ([]Entrant, error) {
	var rows []entryRow
	err := l.db.Read(ctx).Where("voucher_id = ? AND number = ? AND hash > ?", voucherID, number, after).
		Order("hash").Limit(n).Find(&rows).Error
	if err != nil {
		return nil, sqlkit.ReadError(fmt.Sprintf("reading the entries of voucher %d", voucherID), err)
	}
	orders, err := l.firstOrders(ctx, voucherID, sqlkit.Map(rows, func(r *entryRow) int64 { return r.UserID }))
	if err != nil {
		return nil, err
	}
	return sqlkit.Map(rows, func(r *entryRow) Entrant {
		e := Entrant{Hash: draw.Hash(r.Hash), Outcome: draw.None}
		if o, has := orders[r.UserID]; has {
			e.Outcome, e.Decided = o.Outcome, o.Decided
		}
		return e
	}), nil
}

// firstOrders returns the first order of each user in a sale: of several, one that did not fail.
func (l *Ledger) firstOrders(ctx context.Context, voucherID int64, users []int64) (map[int64]Entrant, error) {
	first := make(map[int64]Entrant)
	for part := range sqlkit.Chunks(users) {
		var rows []struct {
			UserID     int64
			Status     order.Status
			CreateTime time.Time
		}
		err := l.db.Read(ctx).Table("tb_voucher_order").Select("user_id", "status", "create_time").
			Where("user_id IN ? AND voucher_id = ?", part, voucherID).Order("user_id, create_time").Find(&rows).Error
		if err != nil {
			return nil, sqlkit.ReadError(fmt.Sprintf("reading the orders of entrants of voucher %d", voucherID), err)
		}
		for _, r := range rows {
			was, has := first[r.UserID]
			switch {
			case r.Status != order.Failed && (!has || was.Outcome == draw.Failed):
				first[r.UserID] = Entrant{Outcome: draw.Bought, Decided: r.CreateTime}
			case !has:
				first[r.UserID] = Entrant{Outcome: draw.Failed, Decided: r.CreateTime}
			}
		}
	}
	return first, nil
}

// Others counts the orders of users without an entry in a draw, and returns when the first of them was recorded. It
// reads all orders of the sale.
func (l *Ledger) Others(ctx context.Context, voucherID, number int64) (n int64, first time.Time, err error) {
	others := func() *gorm.DB {
		return l.db.Read(ctx).Table("tb_voucher_order o").
			Joins("LEFT JOIN tb_draw_entry e ON e.voucher_id = o.voucher_id AND e.number = ? AND e.user_id = o.user_id",
				number).
			Where("o.voucher_id = ? AND o.status <> ? AND e.user_id IS NULL", voucherID, order.Failed)
	}
	err = others().Count(&n).Error
	if err == nil && n > 0 {
		err = others().Select("o.create_time").Order("o.create_time").Limit(1).Find(&first).Error
	}
	return n, first, sqlkit.ReadError(fmt.Sprintf("counting other orders of voucher %d", voucherID), err)
}
