package retention

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"

	"seckill/internal/order"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher"
	"seckill/migrations"
)

// Export is what is stored about one person.
type Export struct {
	UserID int64
	At     time.Time
	// Tables has the rows about the person, by the table's name without tb_: column → value.
	Tables map[string][]map[string]any
}

// Export reads what is stored about a person, in one transaction, and adds an entry to the audit trail. Columns that
// name members of staff are left out. Error: order.ErrUnavailable.
func (l *Ledger) Export(ctx context.Context, user int64, by Trail) (e Export, err error) {
	err = l.db.WriteRetry(ctx, func(tx *gorm.DB) error {
		now, err := l.db.LedgerTime(tx)
		if err != nil {
			return err
		}
		e = Export{UserID: user, At: now, Tables: map[string][]map[string]any{}}
		of, err := l.about(tx, user)
		if err != nil {
			return err
		}
		for _, table := range migrations.Tables() {
			rows, err := of.rows(tx, table)
			if err != nil {
				return fmt.Errorf("reading %s: %w", table.Name, err)
			}
			if len(rows) > 0 {
				e.Tables[strings.TrimPrefix(table.Name, "tb_")] = rows
			}
		}
		return sqlkit.WriteAudit(tx, now, by.Author, sqlkit.AuditRow{
			Action: voucher.UserExported,
			Changes: []voucher.FieldChange{
				{Field: "user", To: digits(user)}, {Field: "by", To: by.By}, {Field: "why", To: by.Why},
			},
		})
	})
	return e, personError("exporting what is stored about a user", err)
}

// about is a person, and what belongs to them.
type about struct {
	person

	payments   []string
	ordinaries []int64 // all ordinary vouchers
}

// about reads what belongs to a user.
func (l *Ledger) about(tx *gorm.DB, user int64) (a about, err error) {
	a.from = user
	if a.orders, err = l.ordersOf(tx, user, 0); err != nil {
		return a, err
	}
	for part := range sqlkit.Chunks(a.orders) {
		var payments []string
		var sales []int64
		err := tx.Table("tb_payment").Where("order_id IN ?", part).Pluck("id", &payments).Error
		if err == nil {
			err = tx.Table("tb_voucher_order").Where("id IN ?", part).Distinct().Pluck("voucher_id", &sales).Error
		}
		if err != nil {
			return a, err
		}
		a.payments, a.sales = append(a.payments, payments...), append(a.sales, sales...)
	}
	for _, id := range a.orders {
		a.subjects = append(a.subjects, order.SubjectOfOrder(id))
	}
	var places []order.PlaceID
	err = tx.Table("tb_place").Select("voucher_id", "position").Where("user_id = ?", user).Find(&places).Error
	for _, p := range places {
		a.sales = append(a.sales, p.VoucherID)
		a.subjects = append(a.subjects, order.SubjectOfPlace(p))
	}
	if err != nil {
		return a, err
	}
	slices.Sort(a.sales)
	a.sales = slices.Compact(a.sales)
	a.ordinaries, err = ordinaries(tx)
	return a, err
}

// rows returns the rows of a table about the person.
func (a *about) rows(tx *gorm.DB, table migrations.Table) (all []map[string]any, err error) {
	read := func(where string, values ...any) {
		if err != nil {
			return
		}
		var rows []map[string]any
		err = tx.Table(table.Name).Where(where, values...).Find(&rows).Error
		for _, row := range rows {
			all = append(all, shownRow(row, table.Staff))
		}
	}
	switch {
	case table.Name == "tb_session_void":
		read("first_user = ? AND last_user = ?", a.from, a.from)
	case table.Forget.By == migrations.ByBuyer:
		for part := range sqlkit.Chunks(a.ordinaries) {
			read("voucher_id IN ? AND "+table.Forget.Column+" = ?", part, a.from)
		}
	case table.Forget.By == migrations.ByUser:
		read(table.Forget.Column+" = ?", a.from)
	case table.Forget.By == migrations.BySale:
		for part := range sqlkit.Chunks(a.sales) {
			read(table.Forget.Column+" IN ? AND "+table.Number+" = ?", part, a.from)
		}
	case table.Purge.By == migrations.ByOrder:
		for part := range sqlkit.Chunks(a.orders) {
			read(table.Purge.Column+" IN ?", part)
		}
	case table.Purge.By == migrations.ByPayment:
		for part := range sqlkit.Chunks(a.payments) {
			read(table.Purge.Column+" IN ?", part)
		}
	case table.Forget.By == migrations.BySubject:
		for part := range sqlkit.Chunks(a.subjects) {
			read(table.Purge.Column+" IN ?", part)
		}
	}
	return all, err
}

// maxExact is the highest integer that JavaScript reads exactly.
const maxExact = 1 << 53

// shownRow returns a row to be written as JSON, without some columns: texts as text, times in RFC 3339, and numbers
// that JavaScript would round as text.
func shownRow(row map[string]any, without []string) map[string]any {
	shown := make(map[string]any, len(row))
	for column, value := range row {
		if slices.Contains(without, column) || column == "body_digest" || column == "identity" || value == nil {
			continue
		}
		switch v := value.(type) {
		case []byte:
			shown[column] = strings.ToValidUTF8(string(v), "\uFFFD")
		case time.Time:
			shown[column] = v.UTC().Format(time.RFC3339Nano)
		case int64:
			shown[column] = v
			if v > maxExact || v < -maxExact || math.Abs(float64(v)) > maxExact {
				shown[column] = digits(v)
			}
		default:
			shown[column] = v
		}
	}
	return shown
}
