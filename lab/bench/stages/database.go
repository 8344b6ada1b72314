package stages

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"seckill/internal/order"
	"seckill/internal/order/gate"
)

// database sells without a queue: the buyer waits for the transaction.
type database struct {
	shop *shop
	// purchase takes a unit and writes the order, in a transaction.
	purchase func(ctx context.Context, s *shop, tx *sql.Tx, p purchase) error
	// lock lets one purchase of a user through at a time, until the returned function is called.
	lock func(ctx context.Context, userID int64) (unlock func(), err error)
}

func (d *database) Buy(ctx context.Context, userID, voucher int64, _ time.Duration) (order.Order, error) {
	var stock int64
	if err := d.shop.db.QueryRowContext(ctx, "SELECT stock FROM tb_seckill_voucher WHERE voucher_id = ?",
		voucher).Scan(&stock); err != nil {
		return order.Order{}, fmt.Errorf("%w: %w", order.ErrUnavailable, err)
	}
	if stock < 1 {
		return order.Order{}, gate.ErrSoldOut
	}
	id, err := d.shop.nextID(ctx)
	if err != nil {
		return order.Order{}, err
	}
	unlock, err := d.lock(ctx, userID)
	if err != nil {
		return order.Order{}, err
	}
	defer unlock()
	p := purchase{id, userID, voucher}
	if err = d.shop.inTransaction(ctx, func(tx *sql.Tx) error { return d.purchase(ctx, d.shop, tx, p) }); err != nil {
		return order.Order{}, err
	}
	return p.order(), nil
}

// checkThenAct is the first version: others write between Buy's check of the stock and this write.
func checkThenAct(ctx context.Context, s *shop, tx *sql.Tx, p purchase) error {
	if err := notBoughtYet(ctx, tx, p); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "UPDATE tb_seckill_voucher SET stock = stock - 1 WHERE voucher_id = ?",
		p.voucher); err != nil {
		return err
	}
	return s.insert(ctx, tx, p)
}

// conditionalUpdate makes the check of the stock a part of its write. The check whether the user has bought is still
// separate from the insert of the order.
func conditionalUpdate(ctx context.Context, s *shop, tx *sql.Tx, p purchase) error {
	if err := notBoughtYet(ctx, tx, p); err != nil {
		return err
	}
	return s.takeUnit(ctx, tx, p)
}

// takeUnit takes a unit if there is one, and writes the order.
func (s *shop) takeUnit(ctx context.Context, tx *sql.Tx, p purchase) error {
	result, err := tx.ExecContext(ctx,
		"UPDATE tb_seckill_voucher SET stock = stock - 1 WHERE voucher_id = ? AND stock > 0", p.voucher)
	if err != nil {
		return err
	}
	if taken, err := result.RowsAffected(); err != nil || taken == 0 {
		return gate.ErrSoldOut
	}
	return s.insert(ctx, tx, p)
}

func notBoughtYet(ctx context.Context, tx *sql.Tx, p purchase) error {
	var bought int
	err := tx.QueryRowContext(ctx, "SELECT COUNT(*) FROM tb_voucher_order WHERE user_id = ? AND voucher_id = ?", p.user,
		p.voucher).Scan(&bought)
	if err == nil && bought > 0 {
		err = &gate.AlreadyBoughtError{Status: order.StatusUnknown}
	}
	return err
}
