package retention

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"

	"seckill/internal/kit/moment"
	"seckill/internal/order"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher"
	"seckill/migrations"
)

// Export is what is stored about one person.
type Export struct {
	UserID int64       `json:"userId"`
	At     moment.Time `json:"at"`
	// Tables has the rows about the person, by the table's name without tb_: column → value.
	Tables map[string][]map[string]any `json:"tables"`
}

// Export reads what is stored about a person, in one transaction, and adds an entry to the audit trail. Columns that
// name members of staff are left out. Error: order.ErrUnavailable.
func (l *Ledger) Export(ctx context.Context, user int64, by Trail) (e Export, err error) {
	err = l.db.WriteAt(ctx, func(tx *gorm.DB, now time.Time) error {
		e = Export{UserID: user, At: moment.Of(now), Tables: map[string][]map[string]any{}}
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
	return e, sqlkit.ReadError("exporting what is stored about a user", err)
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
	if a.payments, err = among[string](tx, "tb_payment", "id", "order_id IN ?", a.orders); err != nil {
		return a, err
	}
	if a.sales, err = among[int64](tx, "tb_voucher_order", "voucher_id", "id IN ?", a.orders); err != nil {
		return a, err
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
func (a *about) rows(tx *gorm.DB, table migrations.Table) ([]map[string]any, error) {
	forget, purge, theirs := table.Forget, table.Purge, []int64{a.from}
	switch {
	case table.Name == "tb_session_void":
		return rowsAmong(tx, table, "first_user IN ? AND last_user = ?", theirs, a.from)
	case forget.By == migrations.ByBuyer:
		return rowsAmong(tx, table, "voucher_id IN ? AND "+forget.Column+" = ?", a.ordinaries, a.from)
	case forget.By == migrations.ByUser:
		return rowsAmong(tx, table, forget.Column+" IN ?", theirs)
	case forget.By == migrations.BySale:
		return rowsAmong(tx, table, forget.Column+" IN ? AND "+table.Number+" = ?", a.sales, a.from)
	case purge.By == migrations.ByOrder:
		return rowsAmong(tx, table, purge.Column+" IN ?", a.orders)
	case purge.By == migrations.ByPayment:
		return rowsAmong(tx, table, purge.Column+" IN ?", a.payments)
	case forget.By == migrations.BySubject:
		return rowsAmong(tx, table, purge.Column+" IN ?", a.subjects)
	}
	return nil, nil
}

// rowsAmong is among for whole rows, as they are shown.
func rowsAmong[K any](
	tx *gorm.DB, table migrations.Table, where string, values []K, more ...any,
) (all []map[string]any, err error) {
	for part := range sqlkit.Chunks(values) {
		var rows []map[string]any
		if err := tx.Table(table.Name).Where(where, append([]any{part}, more...)...).Find(&rows).Error; err != nil {
			return nil, err
		}
		for _, row := range rows {
			all = append(all, shownRow(row, table.Staff))
		}
	}
	return all, nil
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
			if v > maxExact || v < -maxExact {
				shown[column] = digits(v)
			}
		default:
			shown[column] = v
		}
	}
	return shown
}
