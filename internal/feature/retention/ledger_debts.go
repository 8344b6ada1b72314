package retention

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"gorm.io/gorm"

	"seckill/internal/order"
	"seckill/internal/order/payment"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher"
)

// waiting is the condition that an enabled endpoint still waits for an event e.
const waiting = "(EXISTS (SELECT 1 FROM tb_webhook_endpoint p " +
	"WHERE p.disabled_time IS NULL AND (p.shop_id = 0 OR p.shop_id = e.shop_id) " +
	"AND (e.number IS NULL OR p.next_number <= e.number OR (p.replay_next <= e.number AND e.number < p.replay_end))) " +
	"OR EXISTS (SELECT 1 FROM tb_webhook_endpoint p JOIN tb_webhook_retry r ON r.endpoint_id = p.id " +
	"WHERE p.disabled_time IS NULL AND r.subject = e.subject AND r.number <= e.number))"

// owed are the debts of some orders, and their payments.
type owed struct {
	orders   map[int64]Reason
	payments []paymentRow
}

// owes notes a reason for an order; the first counts.
func (o *owed) owes(id int64, why Reason) {
	if _, known := o.orders[id]; !known {
		o.orders[id] = why
	}
}

// owedBy returns what locked orders owe.
func (l *Ledger) owedBy(tx *gorm.DB, orders map[int64]order.Order, now time.Time) (*owed, error) {
	vouchers := map[int64]bool{}
	for _, o := range orders {
		vouchers[o.VoucherID] = true
	}
	terms, err := l.orders.Terms(tx, slices.Collect(maps.Keys(vouchers)))
	if err != nil {
		return nil, err
	}
	found := &owed{orders: map[int64]Reason{}}
	var live []int64 // with a coupon that can be redeemed
	for id, o := range orders {
		switch {
		case o.Status == order.Unpaid, o.Status == order.Refunding:
			found.owes(id, Undecided)
		case o.Status == order.Paid && terms[o.VoucherID].Redemption.ByCode:
			live = append(live, id)
		}
	}
	if err := found.coupons(tx, live, now); err != nil {
		return nil, err
	}
	ids := slices.Collect(maps.Keys(orders))
	if err := found.money(tx, ids); err != nil {
		return nil, err
	}
	err = found.events(tx, ids)
	return found, err
}

// coupons notes orders whose coupons can be redeemed.
func (o *owed) coupons(tx *gorm.DB, ids []int64, now time.Time) error {
	reserved, err := among[int64](tx, "tb_coupon", "order_id", "order_id IN ? AND reserved_until > ?", ids, now)
	for _, id := range reserved {
		o.owes(id, Reserved)
	}
	for _, id := range ids {
		o.owes(id, Coupon)
	}
	return err
}

// money reads the payments of orders and notes those whose money is not settled.
func (o *owed) money(tx *gorm.DB, ids []int64) error {
	of := map[string]int64{} // payment → order
	for part := range sqlkit.Chunks(ids) {
		var rows []paymentRow
		if err := tx.Where("order_id IN ?", part).Find(&rows).Error; err != nil {
			return fmt.Errorf("reading payments: %w", err)
		}
		o.payments = append(o.payments, rows...)
	}
	for i := range o.payments {
		p := &o.payments[i]
		of[p.ID] = p.OrderID
		if p.Dispute == payment.DisputeOpen {
			o.owes(p.OrderID, Dispute)
		}
		if p.underWay() {
			o.owes(p.OrderID, Payment)
		}
	}
	payments := slices.Collect(maps.Keys(of))
	refunds, err := among[string](tx, "tb_refund r", "r.payment_id", "r.payment_id IN ? AND "+openRefund, payments,
		[]payment.RefundState{payment.RefundAsked, payment.RefundPending}, payment.RefundFailed, payment.OriginAll)
	if err != nil {
		return err
	}
	cancels, err := among[string](tx, "tb_payment_cancel", "payment_id", "payment_id IN ?", payments)
	for _, id := range refunds {
		o.owes(of[id], Refund)
	}
	for _, id := range cancels {
		o.owes(of[id], Payment)
	}
	return err
}

// openRefund is the condition that a refund r is not over: its providers are asked, or nobody has seen to a failure.
const openRefund = "(r.state IN ? OR r.state = ? AND r.close_time IS NULL AND r.origin <> ?)"

// events notes orders with events that an endpoint waits for.
func (o *owed) events(tx *gorm.DB, ids []int64) error {
	of := map[order.Subject]int64{}
	for _, id := range ids {
		of[order.SubjectOfOrder(id)] = id
	}
	waits, err := subjectsWaiting(tx, slices.Collect(maps.Keys(of)))
	for _, s := range waits {
		o.owes(of[s], Event)
	}
	return err
}

// subjectsWaiting returns those subjects that have an event which an endpoint waits for.
func subjectsWaiting(tx *gorm.DB, subjects []order.Subject) ([]order.Subject, error) {
	return among[order.Subject](tx, "tb_webhook_event e", "e.subject", "e.subject IN ? AND "+waiting, subjects)
}

// Debts implements Purging. It reads a sale's orders, payments and places by their indexes, without locks, and the
// events of its shop that an endpoint may wait for.
func (l *Ledger) Debts(ctx context.Context, c Candidate) (Debts, error) {
	now, err := l.db.LedgerTime(l.db.Read(ctx))
	if err != nil {
		return nil, sqlkit.ReadError("reading the clock", err)
	}
	debts := Debts{}
	if c.Sale && !c.Retired {
		debts[NotRetired] = 1
	}
	if c.Limited {
		debts[Limit] = 1
	}
	var floor int64 // no enabled endpoint waits for an earlier event, except for those that it tries again
	err = l.db.Read(ctx).Raw("SELECT COALESCE(MIN(CASE WHEN replay_next < replay_end AND replay_next < next_number "+
		"THEN replay_next ELSE next_number END), ?) FROM tb_webhook_endpoint "+
		"WHERE disabled_time IS NULL AND (shop_id = 0 OR shop_id = ?)", int64(math.MaxInt64), c.ShopID).
		Find(&floor).Error
	if err != nil {
		return nil, sqlkit.ReadError("reading how far events were sent", err)
	}
	few, err := l.few(ctx, c)
	if err != nil {
		return nil, err
	}
	for _, question := range l.questions(c, few) {
		var n int64
		names := map[string]any{
			"voucher": c.VoucherID, "before": c.Before, "now": now, "unpaid": order.Unpaid,
			"refunding": order.Refunding, "paid": order.Paid,
			"late": payment.Late, "back": payment.Refunding, "stuck": payment.Stuck, "open": payment.Open,
			"processing": payment.ProgressProcessing, "disputed": payment.DisputeOpen,
			"asked": payment.RefundAsked, "pending": payment.RefundPending, "failed": payment.RefundFailed,
			"all": payment.OriginAll, "floor": floor, "shop": c.ShopID,
			"places": fmt.Sprintf("place-%d-%%", c.VoucherID),
		}
		if err := l.db.Read(ctx).Raw(question.count, names).Find(&n).Error; err != nil {
			return nil, sqlkit.ReadError(fmt.Sprintf("counting what voucher %d owes", c.VoucherID), err)
		}
		if n > 0 {
			debts[question.why] += n
		}
	}
	return debts, nil
}

// question counts what is owed for a reason.
type question struct {
	why   Reason
	count string
}

// few reports whether the voucher has few orders.
func (l *Ledger) few(ctx context.Context, c Candidate) (bool, error) {
	var ids []int64 // of the order behind the last of a few
	err := l.db.Read(ctx).Table("tb_voucher_order").Where("voucher_id = ?", c.VoucherID).Order("id").
		Offset(l.fewOrders).Limit(1).Pluck("id", &ids).Error
	return len(ids) == 0, c.readError("counting orders of", err)
}

// questions returns what a voucher is asked.
func (l *Ledger) questions(c Candidate, few bool) []question {
	const paid = "SELECT COUNT(*) FROM tb_payment p JOIN tb_voucher_order o ON o.id = p.order_id " +
		"WHERE p.voucher_id = @voucher AND "
	old := ""
	if !c.Sale {
		old = " AND o.create_time < @before"
	}
	all := []question{
		{Undecided, "SELECT COUNT(*) FROM tb_voucher_order o WHERE o.voucher_id = @voucher AND " +
			"o.status IN (@unpaid, @refunding)" + old},
		{Payment, paid + "(p.state IN (@late, @back, @stuck) OR p.state = @open AND p.progress = @processing)" + old},
		{Payment, "SELECT COUNT(*) FROM tb_payment_cancel c JOIN tb_payment p ON p.id = c.payment_id " +
			"JOIN tb_voucher_order o ON o.id = p.order_id WHERE p.voucher_id = @voucher" + old},
		{Dispute, paid + "p.dispute = @disputed" + old},
		{Refund, "SELECT COUNT(*) FROM tb_refund r JOIN tb_payment p ON p.id = r.payment_id " +
			"JOIN tb_voucher_order o ON o.id = p.order_id WHERE p.voucher_id = @voucher AND " +
			"(r.state IN (@asked, @pending) OR r.state = @failed AND r.close_time IS NULL AND r.origin <> @all)" + old},
	}
	all = append(all, l.ofEvents(old, few)...)
	if c.ByCode {
		const live = "FROM tb_voucher_order o LEFT JOIN tb_coupon c ON c.order_id = o.id " +
			"WHERE o.voucher_id = @voucher AND o.status = @paid AND "
		all = append(all,
			question{Coupon, "SELECT COUNT(*) " + live + "COALESCE(c.reserved_until, @now) <= @now" + old},
			question{Reserved, "SELECT COUNT(*) " + live + "c.reserved_until > @now" + old})
	}
	if c.Sale {
		all = append(all,
			question{Place, "SELECT COUNT(*) FROM tb_place WHERE voucher_id = @voucher AND open = 1"},
			question{Event, "SELECT COUNT(*) FROM tb_webhook_event e WHERE e.subject LIKE @places AND " + waiting})
	}
	return all
}

// ofEvents asks for events of orders that an endpoint waits for. Few orders are asked for their events: an endpoint
// that is away may wait for millions, and each voucher of its shop would read all of them. Of many orders, the events
// that are waited for are read, up to mostEvents of the voucher's: usually there are few.
func (l *Ledger) ofEvents(old string, few bool) []question {
	subject, number := "CONVERT(CONCAT('order-', o.id) USING ascii)", "SIGNED" // as the column, for its index
	if l.db.Dialect() == sqlkit.SQLite {
		subject, number = "'order-' || o.id", "INTEGER"
	}
	waits := "o.voucher_id = @voucher AND " + waiting + old
	if few {
		return []question{{Event, "SELECT COUNT(*) FROM tb_voucher_order o JOIN tb_webhook_event e ON e.subject = " +
			subject + " WHERE " + waits}}
	}
	ofEvent := " JOIN tb_voucher_order o ON o.id = CAST(SUBSTR(e.subject, 7) AS " + number + ") "
	waits = "e.subject LIKE 'order-%' AND " + waits
	count := func(events string) question {
		return question{Event, "SELECT COUNT(*) FROM (" + events + " AND " + waits + " LIMIT " + digits(mostEvents) +
			") counted"}
	}
	return []question{
		count("SELECT e.id FROM tb_webhook_event e" + ofEvent +
			"WHERE e.shop_id = @shop AND (e.number IS NULL OR e.number >= @floor)"),
		count("SELECT DISTINCT e.id FROM tb_webhook_retry r JOIN tb_webhook_event e ON e.subject = r.subject" +
			ofEvent + "WHERE e.number < @floor"),
	}
}

// Candidates implements Purging.
func (l *Ledger) Candidates(ctx context.Context, before time.Time, after int64, n int) ([]Candidate, error) {
	var all []Candidate
	err := l.db.Read(ctx).Raw("SELECT v.id AS voucher_id, v.shop_id, v.title, v.type = @seckill AS sale, s.end_time, "+
		"COALESCE(s.retired, 0) AS retired, v.redeemable AS by_code, "+
		"(v.type = @ordinary AND v.per_user > 0 AND v.archived IS NULL) AS limited, g.voucher_id IS NOT NULL AS begun "+
		"FROM tb_voucher v LEFT JOIN tb_seckill_voucher s ON s.voucher_id = v.id "+
		"LEFT JOIN tb_purge g ON g.voucher_id = v.id WHERE v.id > @after AND v.shop_id <> @rehearsals AND ("+
		"s.end_time < @before AND (g.end_time IS NULL OR "+
		"EXISTS (SELECT 1 FROM tb_voucher_order o WHERE o.voucher_id = v.id)) "+
		"OR v.type = @ordinary AND (g.voucher_id IS NOT NULL AND g.end_time IS NULL OR "+
		"(SELECT o.create_time FROM tb_voucher_order o WHERE o.voucher_id = v.id "+
		"ORDER BY o.id LIMIT 1) < @before)) ORDER BY v.id LIMIT @n", map[string]any{
		"after": after, "before": before.UTC(), "n": n, "seckill": voucher.Seckill, "ordinary": voucher.Ordinary,
		"rehearsals": voucher.RehearsalShop,
	}).Find(&all).Error
	for i := range all {
		all[i].Before = before.UTC()
	}
	return all, sqlkit.ReadError("looking for sales to purge", err)
}

// answers reports whether the ledger tells the time.
func (l *Ledger) answers(ctx context.Context) bool {
	_, err := l.db.LedgerTime(l.db.Read(ctx))
	return err == nil
}

// Count implements Purging.
func (l *Ledger) Count(ctx context.Context, c Candidate) (n int64, err error) {
	query := l.db.Read(ctx).Table("tb_voucher_order").Where("voucher_id = ?", c.VoucherID)
	if !c.Sale {
		query = query.Where("create_time < ?", c.Before)
	}
	err = query.Count(&n).Error
	return n, sqlkit.ReadError("counting orders", err)
}
