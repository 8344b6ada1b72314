package sqlstore

import (
	"context"
	"fmt"
	"math"

	"gorm.io/gorm"

	"seckill/internal/order"
	"seckill/internal/sqlstore/sqlkit"
)

// Payment returns one payment, or order.ErrNoPayment.
func (s *Store) Payment(ctx context.Context, id string) (order.Payment, error) {
	row, err := findPayment(s.db.Read(ctx), id)
	if err != nil {
		return order.Payment{}, sqlkit.ReadError("reading payment "+id, err)
	}
	return row.payment(), nil
}

// FindPayments returns payments that the filter selects, from behind the one with the number before, newest first, at
// most limit. Pass math.MaxInt64 as before for the first page.
func (s *Store) FindPayments(
	ctx context.Context, f order.PaymentFilter, before int64, limit int,
) ([]order.Payment, error) {
	const what = "listing payments"
	query, some, err := s.selected(ctx, f)
	if err != nil || !some {
		return nil, err
	}
	if before != math.MaxInt64 {
		var from []paymentRow // the row itself, unless it was removed with a rehearsal
		err := s.db.Read(ctx).Select("create_time").Where("number <= ?", before).Order("number DESC").Limit(1).
			Find(&from).Error
		if err != nil {
			return nil, sqlkit.ReadError(what, err)
		}
		if len(from) == 0 {
			return nil, nil
		}
		query = s.behind(query, "<", order.Payment{Number: before, CreatedAt: from[0].CreateTime})
	}
	return read(query.Order("create_time DESC, number DESC").Limit(limit), what)
}

// PaymentsAfter returns payments that the filter selects, from behind the last one, oldest first, at most limit. The
// zero payment stands before the first.
func (s *Store) PaymentsAfter(
	ctx context.Context, f order.PaymentFilter, last order.Payment, limit int,
) ([]order.Payment, error) {
	query, some, err := s.selected(ctx, f)
	if err != nil || !some {
		return nil, err
	}
	if last.Number != 0 {
		query = s.behind(query, ">", last)
	}
	return read(query.Order("create_time, number").Limit(limit), "exporting payments")
}

func read(query *gorm.DB, what string) ([]order.Payment, error) {
	var rows []paymentRow
	if err := query.Find(&rows).Error; err != nil {
		return nil, sqlkit.ReadError(what, err)
	}
	payments := make([]order.Payment, len(rows))
	for i := range rows {
		payments[i] = rows[i].payment()
	}
	return payments, nil
}

// behind restricts a query to payments on one side of another. Both databases read only the index entries that are
// there: MySQL for the alternative, and SQLite for the pair.
func (s *Store) behind(query *gorm.DB, side string, p order.Payment) *gorm.DB {
	if s.db.Dialect() == sqlkit.SQLite {
		return query.Where(fmt.Sprintf("(create_time, number) %s (?, ?)", side), p.CreatedAt, p.Number)
	}
	return query.Where(fmt.Sprintf("(create_time %[1]s ? OR create_time = ? AND number %[1]s ?)", side),
		p.CreatedAt, p.CreatedAt, p.Number)
}

// selected returns a query for the payments that the filter selects, or false if there are none.
func (s *Store) selected(ctx context.Context, f order.PaymentFilter) (query *gorm.DB, some bool, err error) {
	query = s.db.Read(ctx)
	if index := indexFor(f); index != "" {
		hint := "tb_payment FORCE INDEX (%s)"
		if s.db.Dialect() == sqlkit.SQLite {
			hint = "tb_payment INDEXED BY %s"
		}
		query = query.Table(fmt.Sprintf(hint, index))
	}
	if f.Name != "" {
		numbers, err := s.paymentsNamed(ctx, f.Name)
		if err != nil || len(numbers) == 0 {
			return nil, false, err
		}
		query = query.Where("number IN ?", numbers)
	}
	for column, id := range map[string]int64{
		"order_id": f.OrderID, "voucher_id": f.VoucherID, "shop_id": f.ShopID, "state": int64(f.State),
	} {
		if id != 0 {
			query = query.Where(column+" = ?", id)
		}
	}
	if f.Dispute != nil {
		query = query.Where("dispute = ?", *f.Dispute)
	}
	if !f.From.IsZero() {
		query = query.Where("create_time >= ?", f.From.UTC())
	}
	if !f.To.IsZero() {
		query = query.Where("create_time < ?", f.To.UTC())
	}
	return query, true, nil
}

// indexFor returns the index in which the selected payments lie together, sorted as lists are; "" if the filter names
// so few that any will do. The rare states come first: among the payments of a shop they are looked for long.
func indexFor(f order.PaymentFilter) string {
	switch {
	case f.Name != "", f.OrderID != 0:
		return ""
	case f.Dispute != nil && *f.Dispute != order.DisputeNone:
		return "idx_payment_dispute"
	case f.State == order.PaymentLate, f.State == order.PaymentRefunding, f.State == order.PaymentStuck,
		f.State == order.PaymentClosed:
		return "idx_payment_state"
	case f.VoucherID != 0:
		return "idx_payment_voucher"
	case f.ShopID != 0:
		return "idx_payment_shop"
	case f.State != 0:
		return "idx_payment_state"
	default:
		return "idx_payment_time"
	}
}

// paymentsNamed returns the numbers of the payments that have the id or the reference, no more than 1000.
func (s *Store) paymentsNamed(ctx context.Context, name string) (numbers []int64, err error) {
	const most = 1000
	for _, column := range []string{"id", "reference"} {
		var found []int64
		err := s.db.Read(ctx).Model(&paymentRow{}).Where(column+" = ?", name).Limit(most).Pluck("number", &found).Error
		if err != nil {
			return nil, sqlkit.ReadError("looking for payment "+name, err)
		}
		numbers = append(numbers, found...)
	}
	return numbers[:min(len(numbers), most)], nil
}
