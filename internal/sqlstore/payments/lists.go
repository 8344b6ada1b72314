package payments

import (
	"context"
	"database/sql"
	"fmt"

	"seckill/internal/order/payment"
	"seckill/internal/sqlstore/sqlkit"
)

// Lists reads payments and refunds.
type Lists struct{ db *sqlkit.DB }

// ListsIn returns the lists of a database.
func ListsIn(db *sqlkit.DB) Lists { return Lists{db} }

// PaymentsOf implements service.PaymentLedger.
func (s Lists) PaymentsOf(ctx context.Context, orderID int64) ([]payment.Payment, error) {
	return sqlkit.List(s.db.Read(ctx).Where("order_id = ?", orderID).Order("create_time, number"),
		fmt.Sprintf("reading the payments of order %d", orderID), (*Row).Payment)
}

// Payment returns one payment, or payment.ErrNotFound.
func (s Lists) Payment(ctx context.Context, id string) (payment.Payment, error) {
	row, err := Find(s.db.Read(ctx), id)
	return row.Payment(), sqlkit.ReadError("reading payment "+id, err)
}

// NeedStaff implements service.StuckLedger.
func (s Lists) NeedStaff(ctx context.Context) (n payment.NeedStaff, err error) {
	db := s.db.Read(ctx)
	count := func(into *int64, rows any, where string, args ...any) {
		if err == nil {
			err = db.Model(rows).Where(where, args...).Count(into).Error
		}
	}
	count(&n.Stuck, &Row{}, "state = ?", payment.Stuck)
	count(&n.Disputed, &Row{}, "dispute = ?", payment.DisputeOpen)
	count(&n.Overdrawn, &Row{}, overdrawn, payment.DisputeLost)
	count(&n.FailedParts, &refundRow{}, "state = ? AND close_time IS NULL AND origin <> ?", payment.RefundFailed,
		payment.OriginAll)
	return n, sqlkit.ReadError("counting payments that need staff", err)
}

// overdrawn selects received payments of which more has gone back than came in. A dispute must have been lost for that.
const overdrawn = "dispute = ? AND receive_time IS NOT NULL AND returned + disputed > amount"

// somethingToSend selects payments of which the refund of all that was left is asked for, of which more is left than
// refunds are under way for, or of which nothing is left at all. Otherwise the outcome of what is under way decides: of
// parts, or of the refund of all that was left, beside which no other one is made.
const somethingToSend = "(returned + " + lost + " >= amount OR returned + " + lost + " + (SELECT " +
	"COALESCE(SUM(CASE WHEN r.origin = @all THEN tb_payment.amount ELSE r.amount END), 0) " +
	"FROM tb_refund r WHERE r.payment_id = tb_payment.id AND r.state IN @under_way) < amount OR " +
	"EXISTS (SELECT 1 FROM tb_refund r WHERE r.payment_id = tb_payment.id AND r.origin = @all AND r.state = @asked))"

// lost is what has gone back by a dispute.
const lost = "(CASE WHEN dispute = @lost THEN disputed ELSE 0 END)"

// Refunding implements service.PaymentLedger.
func (s Lists) Refunding(ctx context.Context, n int) ([]payment.Payment, error) {
	query := s.db.Read(ctx).Where("state = ? AND dispute <> ?", payment.Refunding, payment.DisputeOpen).
		Where(somethingToSend, sql.Named("lost", payment.DisputeLost), sql.Named("all", payment.OriginAll),
			sql.Named("asked", payment.RefundAsked),
			sql.Named("under_way", []payment.RefundState{payment.RefundAsked, payment.RefundPending})).
		Order("create_time, number").Limit(n)
	return sqlkit.List(query, "reading payments that are to go back", (*Row).Payment)
}

// RefundsIn implements service.PaymentLedger.
func (s Lists) RefundsIn(
	ctx context.Context, state payment.RefundState, origin payment.Origin, n int,
) ([]payment.Refund, error) {
	query := s.db.Read(ctx).Where("state = ?", state)
	if origin != 0 {
		query = query.Where("origin = ?", origin)
	}
	return sqlkit.List(query.Order("number").Limit(n), "looking for refunds", (*refundRow).refund)
}

// RefundsOf returns the refunds of payments, by payment, the oldest first.
func (s Lists) RefundsOf(ctx context.Context, payments []string) (map[string][]payment.Refund, error) {
	found, err := refundsOf(s.db.Read(ctx), payments)
	return found, sqlkit.ReadError("reading refunds", err)
}

// RefundsWaiting counts, by the name of their provider, the refunds that the provider is to be asked for, or about:
// those of all that is left of a payment, and of parts.
func (s Lists) RefundsWaiting(ctx context.Context) (map[string]int64, error) {
	const what = "counting the refunds that wait"
	type row struct {
		Provider string
		N        int64
	}
	waiting := map[string]int64{}
	var all, parts []row
	err := s.db.Read(ctx).Table("tb_payment").Select("provider, COUNT(*) AS n").
		Where("state = ?", payment.Refunding).Group("provider").Find(&all).Error
	if err != nil {
		return nil, sqlkit.ReadError(what, err)
	}
	err = s.db.Read(ctx).Table("tb_refund r").Select("p.provider, COUNT(*) AS n").
		Joins("JOIN tb_payment p ON p.id = r.payment_id").
		Where("r.state IN ? AND p.state <> ?", []payment.RefundState{payment.RefundAsked, payment.RefundPending},
			payment.Refunding).
		Group("p.provider").Find(&parts).Error
	if err != nil {
		return nil, sqlkit.ReadError(what, err)
	}
	for _, r := range append(all, parts...) {
		waiting[r.Provider] += r.N
	}
	return waiting, nil
}
