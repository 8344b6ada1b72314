package retention

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"seckill/internal/order"
	"seckill/internal/order/figures"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher"
	"seckill/migrations"
)

// Ledger purges, forgets and exports in the ledger's database.
type Ledger struct {
	db     *sqlkit.DB
	orders sqlkit.Orders
	draw   func() (pseudonym int64, err error)

	fewOrders int // of a voucher: as many are asked for their events one by one
}

var _ Purging = (*Ledger)(nil)

const fewOrders = 10_000

// NewLedger returns a ledger.
func NewLedger(db *sqlkit.DB, orders sqlkit.Orders) *Ledger {
	return &Ledger{db, orders, drawn, fewOrders}
}

// Begin implements Purging.
func (l *Ledger) Begin(ctx context.Context, c Candidate, waitlist string, by Trail) error {
	err := l.db.WriteRetry(ctx, func(tx *gorm.DB) error {
		if c.Sale {
			if err := closeSale(tx, c); err != nil {
				return err
			}
		}
		now, err := l.db.LedgerTime(tx)
		if err != nil {
			return err
		}
		empty, err := json.Marshal(figures.Orders{})
		if err != nil {
			return err
		}
		made := tx.Clauses(clause.OnConflict{DoNothing: true}).
			Create(&purgeRow{VoucherID: c.VoucherID, Figures: string(empty), Waitlist: waitlist, CreateTime: now})
		if made.Error == nil && made.RowsAffected == 0 && !c.Sale { // more of its orders are old by now
			made = tx.Exec("UPDATE tb_purge SET end_time = NULL WHERE voucher_id = ? AND end_time IS NOT NULL",
				c.VoucherID)
		}
		if made.Error != nil || made.RowsAffected == 0 { // it goes on
			return made.Error
		}
		return sqlkit.WriteAudit(tx, now, by.Author, sqlkit.AuditRow{
			VoucherID: c.VoucherID, Action: voucher.Purged,
			Changes: []voucher.FieldChange{
				{Field: "before", To: c.Before.Format(time.RFC3339)},
				{Field: "by", To: by.By},
				{Field: "why", To: by.Why},
			},
		})
	})
	return c.readError("beginning to purge", err)
}

// readError is sqlkit.ReadError for a voucher.
func (c Candidate) readError(doing string, err error) error {
	return sqlkit.ReadError(fmt.Sprintf("%s voucher %d", doing, c.VoucherID), err)
}

// closeSale makes all claims of a retired sale those of an earlier epoch than its first.
func closeSale(tx *gorm.DB, c Candidate) error {
	var sale struct {
		Epoch, FirstEpoch int64
		Retired           bool
		EndTime           time.Time
	}
	err := sqlkit.Locking(tx).Table("tb_seckill_voucher").Select("epoch", "first_epoch", "retired", "end_time").
		Where("voucher_id = ?", c.VoucherID).Take(&sale).Error
	switch {
	case err != nil:
		return fmt.Errorf("locking the sale: %w", err)
	case !sale.Retired || !sale.EndTime.Before(c.Before):
		return ErrNotYet
	case sale.FirstEpoch > sale.Epoch: // it was done before
		return nil
	}
	return tx.Exec("UPDATE tb_seckill_voucher SET epoch = ?, first_epoch = ? WHERE voucher_id = ?",
		sale.Epoch+1, sale.Epoch+2, c.VoucherID).Error
}

// The parts of a purge, in order.
const (
	operations = iota
	places
	refusals
	entries // of users in draws
	ordersPart
)

// Delete implements Purging.
func (l *Ledger) Delete(
	ctx context.Context, c Candidate, token int64, from Cursor, n int,
) (done Deleted, err error) {
	err = l.db.WriteRetry(ctx, func(tx *gorm.DB) error {
		if token != 0 {
			if err := sqlkit.RaiseFence(tx, purgerJob, token); err != nil {
				return err
			}
		}
		var row purgeRow // the lock of all purges of the voucher
		if err := sqlkit.Locking(tx).Where("voucher_id = ?", c.VoucherID).Take(&row).Error; err != nil {
			return fmt.Errorf("locking the purge: %w", err)
		}
		switch from.Part {
		case operations:
			done, err = deleteOperations(tx, c, from, n)
		case places:
			done, err = deletePlaces(tx, c, from, n)
		case refusals:
			done, err = deleteUsers(tx, "tb_refusal", c, from, n)
		case entries:
			done, err = deleteUsers(tx, "tb_draw_entry", c, from, n)
		default:
			done, err = l.deleteOrders(tx, c, &row, from, n)
		}
		return err
	})
	return done, c.readError("purging", err)
}

// behind returns the cursor behind a page of rows whose last is at; after the last page, at the next part.
func behind(from Cursor, rows, n int, at int64) Cursor {
	if rows < n {
		return Cursor{Part: from.Part + 1}
	}
	return Cursor{Part: from.Part, After: at}
}

// deleteOperations deletes the operations that name an order.
func deleteOperations(tx *gorm.DB, c Candidate, from Cursor, n int) (Deleted, error) {
	if !c.Sale {
		return Deleted{Next: Cursor{Part: ordersPart}}, nil
	}
	rows := ruleOf("tb_voucher_operation").Purge
	var numbers []int64
	err := tx.Table("tb_voucher_operation").Where("voucher_id = ? AND number > ? AND "+rows.Where, c.VoucherID,
		from.After).Order("number").Limit(n).Pluck("number", &numbers).Error
	if err != nil || len(numbers) == 0 {
		return Deleted{Next: Cursor{Part: places}}, err
	}
	err = tx.Exec("DELETE FROM tb_voucher_operation WHERE voucher_id = ? AND number IN ?", c.VoucherID, numbers).Error
	return Deleted{Rows: len(numbers), Next: behind(from, len(numbers), n, numbers[len(numbers)-1])}, err
}

// deletePlaces deletes the places on a waiting list that are over and whose events were delivered.
func deletePlaces(tx *gorm.DB, c Candidate, from Cursor, n int) (Deleted, error) {
	var rows []struct {
		Position int64
		Open     *int64
	}
	err := tx.Table("tb_place").Select("position", "open").Where("voucher_id = ? AND position > ?", c.VoucherID,
		from.After).Order("position").Limit(n).Find(&rows).Error
	if err != nil || len(rows) == 0 {
		return Deleted{Next: Cursor{Part: refusals}}, err
	}
	done := Deleted{Owed: Debts{}, Next: behind(from, len(rows), n, rows[len(rows)-1].Position)}
	of := map[order.Subject]int64{}
	for _, r := range rows {
		if r.Open != nil {
			done.Owed[Place]++
			continue
		}
		of[order.SubjectOfPlace(order.PlaceID{VoucherID: c.VoucherID, Position: r.Position})] = r.Position
	}
	waits, err := subjectsWaiting(tx, slices.Collect(maps.Keys(of)))
	if err != nil {
		return done, err
	}
	for _, s := range waits {
		done.Owed[Event]++
		delete(of, s)
	}
	gone, positions := children{subjects: slices.Collect(maps.Keys(of))}, slices.Collect(maps.Values(of))
	if err := gone.delete(tx); err != nil || len(positions) == 0 {
		return done, err
	}
	done.Rows = len(positions)
	return done, tx.Exec("DELETE FROM tb_place WHERE voucher_id = ? AND position IN ?", c.VoucherID, positions).Error
}

// deleteUsers deletes the rows of a table about users in a sale, which owe nothing.
func deleteUsers(tx *gorm.DB, table string, c Candidate, from Cursor, n int) (Deleted, error) {
	var users []int64
	err := tx.Table(table).Distinct("user_id").Where("voucher_id = ? AND user_id > ?", c.VoucherID, from.After).
		Order("user_id").Limit(n).Pluck("user_id", &users).Error
	if err != nil || len(users) == 0 {
		return Deleted{Next: Cursor{Part: from.Part + 1}}, err
	}
	err = deleteBy(tx, table, "voucher_id = "+digits(c.VoucherID)+" AND user_id", users)
	return Deleted{Rows: len(users), Next: behind(from, len(users), n, users[len(users)-1])}, err
}

// deleteOrders deletes orders that owe nothing, with all that belongs to them, and adds them to the figures.
func (l *Ledger) deleteOrders(tx *gorm.DB, c Candidate, row *purgeRow, from Cursor, n int) (Deleted, error) {
	var ids []int64
	err := tx.Table("tb_voucher_order").Where("voucher_id = ? AND id > ?", c.VoucherID, from.After).
		Order("id").Limit(n).Pluck("id", &ids).Error
	if err != nil || len(ids) == 0 {
		return Deleted{Done: true}, err
	}
	locked, err := l.orders.Lock(tx, ids)
	if err != nil {
		return Deleted{}, err
	}
	now, err := l.db.LedgerTime(tx)
	if err != nil {
		return Deleted{}, err
	}
	done := Deleted{Owed: Debts{}, Done: len(ids) < n, Next: Cursor{Part: ordersPart, After: ids[len(ids)-1]}}
	young := 0
	for id, o := range locked { // orders of an ordinary voucher go by their own age
		if !c.Sale && !o.CreatedAt.Before(c.Before) {
			young++
			delete(locked, id)
		}
	}
	if young == len(ids) { // ids rise with time: so are all that follow
		done.Done = true
	}
	if len(locked) == 0 {
		return done, nil
	}
	found, err := l.owedBy(tx, locked, now)
	if err != nil {
		return Deleted{}, err
	}
	for id, why := range found.orders {
		done.Owed[why]++
		delete(locked, id)
	}
	done.Orders = len(locked)
	return done, l.remove(tx, row, locked, found.payments)
}

// remove deletes locked orders, and their payments among some, and adds them to the figures.
func (l *Ledger) remove(tx *gorm.DB, row *purgeRow, orders map[int64]order.Order, payments []paymentRow) error {
	if len(orders) == 0 {
		return nil
	}
	var sums figures.Orders
	gone, days := children{}, map[string]figures.Day{}
	for id, o := range orders {
		sums = sums.WithOrder(o)
		gone.orders = append(gone.orders, id)
		gone.subjects = append(gone.subjects, order.SubjectOfOrder(id))
	}
	slices.Sort(gone.orders)
	for i := range payments {
		if _, goes := orders[payments[i].OrderID]; !goes {
			continue
		}
		moved := payments[i].moved()
		sums = sums.WithPayment(moved.Payment)
		moved.AddTo(days, func(at time.Time) string { return l.db.Midnight(at).Format(time.DateOnly) })
		gone.payments = append(gone.payments, payments[i].ID)
	}
	if err := gone.delete(tx); err != nil {
		return err
	}
	if err := row.add(len(orders), sums); err != nil {
		return fmt.Errorf("adding figures: %w", err)
	}
	if err := tx.Model(row).Select("orders", "figures").Updates(row).Error; err != nil {
		return fmt.Errorf("writing figures: %w", err)
	}
	return addDays(tx, row.VoucherID, days)
}

// addDays adds the money of some days to what was purged of a voucher.
func addDays(tx *gorm.DB, voucherID int64, days map[string]figures.Day) error {
	for _, day := range slices.Sorted(maps.Keys(days)) {
		row := dayRow{VoucherID: voucherID, Day: day}
		if err := tx.Where("voucher_id = ? AND day = ?", voucherID, day).Find(&row).Error; err != nil {
			return fmt.Errorf("reading a day: %w", err)
		}
		row.add(days[day])
		if err := tx.Clauses(clause.OnConflict{UpdateAll: true}).Create(&row).Error; err != nil {
			return fmt.Errorf("writing a day: %w", err)
		}
	}
	return nil
}

// ruleOf returns what migrations.Tables says of a table.
func ruleOf(name string) migrations.Table {
	for _, t := range migrations.Tables() {
		if t.Name == name {
			return t
		}
	}
	return migrations.Table{}
}

// End implements Purging.
func (l *Ledger) End(ctx context.Context, c Candidate) error {
	err := l.db.WriteAt(ctx, func(tx *gorm.DB, now time.Time) error {
		return tx.Exec("UPDATE tb_purge SET end_time = ? WHERE voucher_id = ?", now, c.VoucherID).Error
	})
	return c.readError("ending the purge of", err)
}
