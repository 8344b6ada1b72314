package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"gorm.io/gorm"

	"seckill/internal/kit/idempotency"
	"seckill/internal/order"
	"seckill/internal/order/reason"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher"
)

// ledger is what the subjects share.
type ledger struct {
	db    *sqlkit.DB
	terms *termsCache
	hooks []sqlkit.Hook // of features, in their order
	named atomic.Bool   // see NameOperations
}

// transaction is a transaction that has begun, with what all of them need.
type transaction struct {
	*gorm.DB
	*ledger
}

// write runs f in a transaction, as sqlkit.DB.WriteRetry does.
func (l *ledger) write(ctx context.Context, f func(tx transaction) error) error {
	return l.db.WriteRetry(ctx, func(tx *gorm.DB) error { return f(transaction{tx, l}) })
}

// once runs f in a transaction, as sqlkit.DB.Write does.
func (l *ledger) once(ctx context.Context, f func(tx transaction) error) error {
	return l.db.Write(ctx, func(tx *gorm.DB) error { return f(transaction{tx, l}) })
}

// now is sqlkit.DB.LedgerTime.
func (tx transaction) now() (time.Time, error) { return tx.db.LedgerTime(tx.DB) }

// claimKey is sqlkit.ClaimKey at the ledger's time. Read the time anew once rows are locked: they may be waited for.
func (tx transaction) claimKey(k idempotency.Key, made string) error {
	if !k.Given() {
		return nil
	}
	now, err := tx.now()
	if err != nil {
		return err
	}
	return sqlkit.ClaimKey(tx.DB, now, k, made)
}

// cause is who does something to orders, when, and why.
type cause struct {
	by  order.Actor
	at  time.Time
	why reason.Why
}

// lockOrder locks and returns an order. It returns order.ErrNotFound if the order does not exist or is another user's;
// owner 0 is any user.
func lockOrder(tx transaction, id, owner int64) (orderRow, error) {
	row, err := sqlkit.Take[orderRow](sqlkit.Locking(tx.DB).Where("id = ?", id), order.ErrNotFound, "locking the order")
	if err == nil && owner != 0 && row.UserID != owner {
		return orderRow{}, order.ErrNotFound
	}
	return row, err
}

// lockOrders locks orders and returns those that exist, by id.
func lockOrders(tx transaction, ids []int64) (map[int64]*orderRow, error) {
	locked := make(map[int64]*orderRow, len(ids))
	for part := range sqlkit.Chunks(slices.Sorted(slices.Values(ids))) {
		var rows []orderRow
		if err := sqlkit.Locking(tx.DB).Where("id IN ?", part).Order("id").Find(&rows).Error; err != nil {
			return nil, fmt.Errorf("locking %d orders: %w", len(ids), err)
		}
		for i := range rows {
			locked[rows[i].ID] = &rows[i]
		}
	}
	return locked, nil
}

func lockVoucher(tx transaction, id int64) (voucherRows, error) {
	row, err := sqlkit.Take[voucherRow](sqlkit.Locking(tx.DB).Where("id = ?", id), voucher.ErrNotFound,
		"locking the voucher")
	if err != nil || row.Kind != voucher.Seckill {
		return voucherRows{row: row}, err
	}
	sale, err := lockSale(tx, id)
	return voucherRows{row, &sale}, err
}

// lockSale locks the sale's row until the transaction ends.
func lockSale(tx transaction, id int64) (saleRow, error) {
	var sale saleRow
	err := sqlkit.Locking(tx.DB).
		Where("voucher_id = ?", id).Take(&sale).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return saleRow{}, noSale(tx, id)
	}
	return sale, err
}

// lockSales locks the rows of the sales, in the order in which all transactions do, and returns them.
func lockSales(tx transaction, ids []int64) (map[int64]saleRow, error) {
	sales := make(map[int64]saleRow, len(ids))
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	for part := range sqlkit.Chunks(ids) {
		var rows []saleRow
		err := sqlkit.Locking(tx.DB).Where("voucher_id IN ?", part).Order("voucher_id").Find(&rows).Error
		if err != nil {
			return nil, fmt.Errorf("locking sales: %w", err)
		}
		for _, row := range rows {
			sales[row.VoucherID] = row
		}
	}
	return sales, nil
}

// noSale returns why a voucher has no sale.
func noSale(tx transaction, voucherID int64) error {
	if _, err := findVoucher(tx.DB, voucherID); err != nil {
		return err
	}
	return voucher.ErrNotSeckill
}

func findVoucher(db *gorm.DB, id int64) (voucher.Voucher, error) {
	vs, err := scanVouchers(joined(db).Where("v.id = ?", id))
	if err != nil {
		return voucher.Voucher{}, err
	}
	if len(vs) == 0 {
		return voucher.Voucher{}, voucher.ErrNotFound
	}
	return vs[0], nil
}

// joined selects vouchers with their sales in one statement. It names the columns because the two tables may one day
// have a column of the same name.
func joined(db *gorm.DB) *gorm.DB {
	return db.Table("tb_voucher v").
		Select("v.id, v.shop_id, v.title, v.sub_title, v.rules, v.picture, v.pay_value, v.actual_value, v.type, " +
			"v.status, v.version, v.create_time, v.update_time, v.pay_within, v.processing_within, " +
			"v.redeemable, v.valid_until, v.valid_days, v.visible_from, v.per_user, v.guards, v.archived, " +
			"s.voucher_id, s.stock, s.issued, s.begin_time, s.end_time, s.paused, s.epoch, s.sequence, " +
			"s.first_epoch, s.partition_no, s.retired, s.last_operation, s.invite_window, s.kept, s.accepted, " +
			"s.list_open, s.called_off, t.identity AS last_identity").
		Joins("LEFT JOIN tb_seckill_voucher s ON s.voucher_id = v.id").
		Joins("LEFT JOIN tb_voucher_operation t ON t.voucher_id = s.voucher_id AND t.number = s.last_operation")
}

func scanVouchers(query *gorm.DB) ([]voucher.Voucher, error) {
	type joinedRow struct {
		Voucher  voucherRow `gorm:"embedded"`
		Sale     saleRow    `gorm:"embedded"` // zero for an ordinary voucher
		Identity *int64     `gorm:"column:last_identity"`
	}
	var rows []joinedRow
	if err := query.Find(&rows).Error; err != nil {
		return nil, err
	}
	return sqlkit.Map(rows, func(r *joinedRow) voucher.Voucher {
		both := voucherRows{row: r.Voucher}
		if r.Sale.VoucherID != 0 {
			both.sale = &r.Sale
		}
		v := both.voucher()
		if v.Sale != nil {
			v.Sale.LastIdentity = sqlkit.Value(r.Identity)
		}
		return v
	}), nil
}
