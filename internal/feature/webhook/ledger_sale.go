package webhook

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"seckill/internal/feature/webhook/dispatch"
	"seckill/internal/kit/trace"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher"
)

// saleEventRow counts the events of a sale, and says which of those that come once have been written.
type saleEventRow struct {
	VoucherID int64 `gorm:"column:voucher_id;primaryKey;autoIncrement:false"`
	Number    int64 `gorm:"column:number"` // of the last one
	Started   bool  `gorm:"column:started"`
	SoldOut   bool  `gorm:"column:sold_out"`
	Ended     bool  `gorm:"column:ended"`
}

// TableName implements gorm's schema.Tabler.
func (*saleEventRow) TableName() string { return "tb_sale_event" }

// once returns the mark of a type that comes once.
func (r *saleEventRow) once(t dispatch.Type) *bool {
	switch t {
	case dispatch.SaleStarted:
		return &r.Started
	case dispatch.SaleSoldOut:
		return &r.SoldOut
	default:
		return &r.Ended
	}
}

// numberSale locks the row of a sale, and returns it with the number of the sale's next event: above all earlier ones,
// and above the number of its last operation, which the last event of a version without the row has.
func numberSale(tx *gorm.DB, d sqlkit.Dialect, voucherID, operation int64) (row saleEventRow, err error) {
	next := "GREATEST(tb_sale_event.number + 1, VALUES(number))"
	if d == sqlkit.SQLite {
		next = "MAX(tb_sale_event.number + 1, excluded.number)"
	}
	put := clause.OnConflict{
		Columns:   []clause.Column{{Name: "voucher_id"}},
		DoUpdates: clause.Set{{Column: clause.Column{Name: "number"}, Value: gorm.Expr(next)}},
	}
	row = saleEventRow{VoucherID: voucherID, Number: operation + 1}
	if err := tx.Clauses(put).Create(&row).Error; err != nil {
		return row, fmt.Errorf("numbering an event of sale %d: %w", voucherID, err)
	}
	return sqlkit.Take[saleEventRow](tx.Where("voucher_id = ?", voucherID), gorm.ErrRecordNotFound,
		"reading the number of an event of a sale")
}

// announceSale writes an event about a voucher's sale now, if it is wanted.
func (l *Ledger) announceSale(tx *gorm.DB, v voucher.Voucher, t dispatch.Type) error {
	if v.Sale == nil || !wanted(l.subscribed.known(), v.ShopID) {
		return nil
	}
	row, err := numberSale(tx, l.db.Dialect(), v.ID, v.Sale.LastOperation)
	if err != nil {
		return err
	}
	at := v.Sale.CalledOff
	if t != dispatch.SaleCalledOff {
		if at, err = l.db.LedgerTime(tx); err != nil {
			return err
		}
	}
	e, err := dispatch.EventOfSale(v, l.db.Currency(), t, row.Number, at, trace.From(tx.Statement.Context))
	if err != nil {
		return err
	}
	return writeEvents(tx, e)
}

// dueSales selects sales that have started, sold out or ended without an event.
const dueSales = `SELECT v.id
FROM tb_seckill_voucher s JOIN tb_voucher v ON v.id = s.voucher_id
LEFT JOIN tb_sale_event e ON e.voucher_id = s.voucher_id
WHERE s.retired = @no AND s.called_off IS NULL AND s.begin_time <= @now AND v.shop_id <> @rehearsals
AND (@all OR v.shop_id IN @shops)
AND (COALESCE(e.started, 0) = 0 OR COALESCE(e.sold_out, 0) = 0 AND s.stock = 0
    OR COALESCE(e.ended, 0) = 0 AND s.end_time <= @now)
ORDER BY v.id LIMIT @n`

// SalesDue returns up to n vouchers whose sales have started, sold out or ended without an event.
func (l *Ledger) SalesDue(ctx context.Context, n int) (ids []int64, err error) {
	const what = "looking for sales that have started, sold out or ended"
	if found, err := l.EventsWritten(ctx); err != nil || !found {
		return nil, err
	}
	db := l.db.Read(ctx)
	now, err := l.db.LedgerTime(db)
	if err != nil {
		return nil, sqlkit.ReadError(what, err)
	}
	err = db.Raw(dueSales, l.dueNames(now, n)).Find(&ids).Error
	return ids, sqlkit.ReadError(what, err)
}

// dueNames returns the values of the names in dueSales.
func (l *Ledger) dueNames(now time.Time, n int) map[string]any {
	shops := []int64{0} // so that the list is never empty
	known := l.subscribed.known()
	for id := range known {
		shops = append(shops, id)
	}
	return map[string]any{
		"now": now, "no": false, "rehearsals": voucher.RehearsalShop, "all": known[0], "shops": shops, "n": n,
	}
}

// WriteDue writes the events of a voucher's sale that are due. Each is written once: the row that says so is locked.
// Only then is the sale read, so that an event with a higher number is never about an earlier state.
func (l *Ledger) WriteDue(ctx context.Context, voucherID int64) error {
	err := l.db.WriteRetry(ctx, func(tx *gorm.DB) error {
		row, err := lockSaleEvents(tx, voucherID)
		if err != nil {
			return err
		}
		v, err := l.orders.Voucher(tx, voucherID)
		if err != nil || v.Sale == nil || v.Sale.IsCalledOff() {
			return err
		}
		now, err := l.db.LedgerTime(tx)
		if err != nil {
			return err
		}
		for _, due := range []struct {
			t     dispatch.Type
			at    time.Time
			isDue bool
		}{
			{dispatch.SaleStarted, v.Sale.Begin, !now.Before(v.Sale.Begin)},
			{dispatch.SaleSoldOut, now, v.Sale.Stock == 0 && !now.Before(v.Sale.Begin)},
			{dispatch.SaleEnded, v.Sale.End, !now.Before(v.Sale.End)},
		} {
			mark := row.once(due.t)
			if !due.isDue || *mark {
				continue
			}
			*mark = true
			if err := l.writeOnce(tx, v, due.t, due.at, now); err != nil {
				return err
			}
		}
		return tx.Model(&row).Select("started", "sold_out", "ended").Updates(&row).Error
	})
	return sqlkit.ReadError(fmt.Sprintf("writing events of sale %d", voucherID), err)
}

// lockSaleEvents returns the locked row of a sale, which it makes if there is none.
func lockSaleEvents(tx *gorm.DB, voucherID int64) (row saleEventRow, err error) {
	row.VoucherID = voucherID
	if err := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&row).Error; err != nil {
		return row, fmt.Errorf("making the row of the events of a sale: %w", err)
	}
	return sqlkit.Take[saleEventRow](sqlkit.Locking(tx).Where("voucher_id = ?", voucherID), gorm.ErrRecordNotFound,
		"locking the events of a sale")
}

// writeOnce writes an event now about what has happened to a sale at a time, which may be long ago.
func (l *Ledger) writeOnce(tx *gorm.DB, v voucher.Voucher, t dispatch.Type, at, now time.Time) error {
	row, err := numberSale(tx, l.db.Dialect(), v.ID, v.Sale.LastOperation)
	if err != nil {
		return err
	}
	e, err := dispatch.EventOfSale(v, l.db.Currency(), t, row.Number, at, "")
	if err != nil {
		return err
	}
	e.At = now // its age, and its place among those of a time: the body has the other one
	return writeEvents(tx, e)
}
