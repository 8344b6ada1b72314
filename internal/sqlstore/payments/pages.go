package payments

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gorm.io/gorm"

	"seckill/internal/order/payment"
	"seckill/internal/sqlstore/sqlkit"
)

// FindPayments returns payments that the filter selects, with a number below before, newest first, at most limit. Pass
// math.MaxInt64 as before for the first page.
func (s Lists) FindPayments(
	ctx context.Context, f payment.Filter, before int64, limit int,
) ([]payment.Payment, error) {
	const what = "listing payments"
	query, some, err := s.selected(ctx, f)
	if err != nil || !some {
		return nil, err
	}
	if before != math.MaxInt64 {
		var from []Row // the row itself, unless it was removed with a rehearsal
		err := s.db.Read(ctx).Select("create_time").Where("number <= ?", before).Order("number DESC").Limit(1).
			Find(&from).Error
		if err != nil {
			return nil, sqlkit.ReadError(what, err)
		}
		if len(from) == 0 {
			return nil, nil
		}
		query = s.behind(query, "<", payment.Payment{Number: before, CreatedAt: from[0].CreateTime})
	}
	return sqlkit.List(query.Order("create_time DESC, number DESC").Limit(limit), what, (*Row).Payment)
}

// PaymentsAfter returns payments that the filter selects, from behind the last one, oldest first, at most limit. The
// zero payment stands before the first.
func (s Lists) PaymentsAfter(
	ctx context.Context, f payment.Filter, last payment.Payment, limit int,
) ([]payment.Payment, error) {
	query, some, err := s.selected(ctx, f)
	if err != nil || !some {
		return nil, err
	}
	if last.Number != 0 {
		query = s.behind(query, ">", last)
	}
	return sqlkit.List(query.Order("create_time, number").Limit(limit), "exporting payments", (*Row).Payment)
}

// behind restricts a query to payments on one side of another. Both databases read only the index entries that are
// there: MySQL for the alternative, and SQLite for the pair.
func (s Lists) behind(query *gorm.DB, side string, p payment.Payment) *gorm.DB {
	if s.db.Dialect() == sqlkit.SQLite {
		return query.Where(fmt.Sprintf("(create_time, number) %s (?, ?)", side), p.CreatedAt, p.Number)
	}
	return query.Where(fmt.Sprintf("(create_time %[1]s ? OR create_time = ? AND number %[1]s ?)", side),
		p.CreatedAt, p.CreatedAt, p.Number)
}

// selected returns a query for the payments that the filter selects, or false if there are none.
func (s Lists) selected(ctx context.Context, f payment.Filter) (query *gorm.DB, some bool, err error) {
	query = s.db.Read(ctx)
	if f.VoucherID != 0 && f.ShopID != 0 {
		var shop []int64
		err := query.Table("tb_voucher").Where("id = ?", f.VoucherID).Pluck("shop_id", &shop).Error
		if err != nil {
			return nil, false, sqlkit.ReadError(fmt.Sprintf("reading the shop of voucher %d", f.VoucherID), err)
		}
		if !slices.Contains(shop, f.ShopID) {
			return nil, false, nil // else all payments of the voucher would be looked at
		}
	}
	if index := indexFor(f); index != "" {
		if other := f; disputed(f) && s.db.Dialect() == sqlkit.MySQL && (f.VoucherID != 0 || f.State != 0) {
			other.Dispute, other.Overdrawn = nil, false
			index += ", " + indexFor(other) // the database takes the one with fewer entries
		}
		query = query.Table(s.db.UsingIndex("tb_payment", index))
	}
	if f.Name != "" {
		numbers, err := s.Named(ctx, "number", f.Name)
		if err != nil || len(numbers) == 0 {
			return nil, false, err
		}
		query = query.Where("number IN ?", numbers)
	}
	query = sqlkit.Equal(query, map[string]int64{
		"order_id": f.OrderID, "voucher_id": f.VoucherID, "shop_id": f.ShopID, "state": int64(f.State),
	})
	if f.Dispute != nil {
		query = query.Where("dispute = ?", *f.Dispute)
	}
	if f.Refund != 0 {
		query = query.Where("id IN (SELECT r.payment_id FROM tb_refund r WHERE r.state = ? AND (r.state <> ? OR "+
			"r.close_time IS NULL))", f.Refund, payment.RefundFailed)
	}
	if f.Overdrawn {
		query = query.Where(overdrawn, payment.DisputeLost)
	}
	if !f.From.IsZero() {
		query = query.Where("create_time >= ?", f.From.UTC())
	}
	if !f.To.IsZero() {
		query = query.Where("create_time < ?", f.To.UTC())
	}
	return query, true, nil
}

// disputed reports whether the filter selects payments that are, or were, disputed: few in a shop.
func disputed(f payment.Filter) bool {
	return f.Overdrawn || f.Dispute != nil && *f.Dispute != payment.DisputeNone
}

// indexFor returns the index in which the selected payments lie together, sorted as lists are; "" if the filter names
// so few that any will do.
func indexFor(f payment.Filter) string {
	switch few := disputed(f); {
	case f.Name != "", f.OrderID != 0, f.Refund != 0:
		return ""
	case few && f.ShopID != 0:
		return "idx_payment_shop_dispute"
	case few:
		return "idx_payment_dispute"
	case f.VoucherID != 0 && f.State != 0:
		return "idx_payment_voucher_state"
	case f.VoucherID != 0:
		return "idx_payment_voucher"
	case f.ShopID != 0 && f.State != 0:
		return "idx_payment_shop_state"
	case f.ShopID != 0:
		return "idx_payment_shop"
	case f.State != 0:
		return "idx_payment_state"
	default:
		return "idx_payment_time"
	}
}

// Named returns a column of the payments that have the id or the reference: of one as a rule, and of no more
// than 1000.
func (s Lists) Named(ctx context.Context, column, name string) (values []int64, err error) {
	const most = 1000
	for _, by := range []string{"id", "reference"} {
		var found []int64
		err := s.db.Read(ctx).Model(&Row{}).Where(by+" = ?", name).Limit(most).Pluck(column, &found).Error
		if err != nil {
			return nil, sqlkit.ReadError("looking for payment "+name, err)
		}
		values = append(values, found...)
	}
	return values[:min(len(values), most)], nil
}
