package report

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"seckill/internal/feature"
	"seckill/internal/order"
	"seckill/internal/order/figures"
	"seckill/internal/order/payment"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher"
)

// ledger is the ledger's database, as reports read it.
type ledger struct{ db *sqlkit.DB }

// NewReports returns reports from the ledger's database.
func NewReports(db *sqlkit.DB, core Core, members feature.Members) *Reports {
	return &Reports{ledger{db}, core, members}
}

// tallyRow is the tally of the orders in one state.
type tallyRow struct {
	Stock, Issued int64
	Money
	Status     *order.Status // NULL where there are no orders
	Expired    bool
	Processing bool
	Tally
	PurgeTime         *time.Time // of what was purged; NULL: nothing was
	Purged            int64      // orders
	Figures, Waitlist string
}

// The SQL for the amounts of a payment that a dispute has cost, and that have gone back, as payment.Flow computes them.
const (
	lost = "(CASE WHEN dispute = @lost THEN disputed ELSE 0 END)"
	gone = "(returned + " + lost + ")"
)

// sums adds up the voucher's orders and payments, of one moment, by one statement. It reads them by the indexes of
// their voucher, without locks; a million orders take seconds. Error: voucher.ErrNotFound.
func (l ledger) sums(ctx context.Context, voucherID int64) (Sums, error) {
	what := fmt.Sprintf("adding up the orders of voucher %d", voucherID)
	var rows []tallyRow
	// The column expired is computed as figures.Expired does. What was purged is read by the same statement, because
	// each transaction of a purge moves some orders from the one to the other.
	err := l.db.Read(ctx).Raw(
		"SELECT COALESCE((SELECT SUM(s.stock) FROM tb_seckill_voucher s WHERE s.voucher_id = v.id), 0) AS stock, "+
			"COALESCE((SELECT SUM(s.issued) FROM tb_seckill_voucher s WHERE s.voucher_id = v.id), 0) AS issued, "+
			"COALESCE(p.received, 0) AS received, COALESCE(p.returned, 0) AS returned, "+
			"COALESCE(p.stuck, 0) AS stuck, COALESCE(p.closed, 0) AS closed, "+
			"COALESCE(p.lost, 0) AS lost, COALESCE(p.overdrawn, 0) AS overdrawn, "+
			"o.status, COALESCE(o.expired, 0) AS expired, COALESCE(o.waits, 0) AS processing, "+
			"COALESCE(o.orders, 0) AS orders, COALESCE(o.units, "+
			"0) AS units, COALESCE(o.cents, 0) AS cents, "+
			"g.create_time AS purge_time, COALESCE(g.orders, 0) AS purged, "+
			"COALESCE(g.figures, '') AS figures, COALESCE(g.waitlist, '') AS waitlist "+
			"FROM tb_voucher v LEFT JOIN tb_purge g ON g.voucher_id = v.id LEFT JOIN "+
			"(SELECT voucher_id, status, CASE WHEN status = @cancelled AND cancel_time >= pay_deadline THEN 1 "+
			"ELSE 0 END AS expired, CASE WHEN status = @unpaid AND processing = 1 THEN 1 ELSE 0 END AS waits, "+
			"COUNT(*) AS orders, SUM(quantity) AS units, SUM(amount) AS cents "+
			"FROM tb_voucher_order WHERE voucher_id = @voucher GROUP BY voucher_id, status, expired, waits) o ON "+
			"o.voucher_id = v.id LEFT JOIN (SELECT voucher_id, SUM(amount) AS received, "+
			"SUM("+gone+") AS returned, SUM(CASE WHEN state = @stuck THEN amount - "+gone+" ELSE 0 END) AS stuck, "+
			"SUM(CASE WHEN state = @closed THEN amount - "+gone+" ELSE 0 END) AS closed, "+
			"SUM("+lost+") AS lost, SUM(CASE WHEN "+gone+" > amount THEN "+gone+" - amount ELSE 0 END) AS overdrawn "+
			"FROM tb_payment "+
			"WHERE voucher_id = @voucher AND receive_time IS NOT NULL GROUP BY voucher_id) p ON p.voucher_id = v.id "+
			"WHERE v.id = @voucher",
		map[string]any{
			"voucher": voucherID, "cancelled": order.Cancelled, "lost": payment.DisputeLost,
			"stuck": payment.Stuck, "closed": payment.Closed, "unpaid": order.Unpaid,
		}).Find(&rows).Error
	switch {
	case err != nil:
		return Sums{}, sqlkit.ReadError(what, err)
	case len(rows) == 0:
		return Sums{}, fmt.Errorf("%s: %w", what, voucher.ErrNotFound)
	}
	sums := Sums{Stock: rows[0].Stock, Issued: rows[0].Issued}
	sums.Money = rows[0].Money
	for _, row := range rows {
		if row.Status == nil { // there are no orders
			continue
		}
		sums.Orders = sums.With(*row.Status, row.Expired, row.Tally)
		if row.Processing {
			sums.Processing = row.Tally
		}
	}
	err = rows[0].addPurged(&sums)
	return sums, err
}

// addPurged adds what was purged.
func (r tallyRow) addPurged(sums *Sums) error {
	if r.PurgeTime == nil {
		return nil
	}
	var gone figures.Orders
	if err := json.Unmarshal([]byte(r.Figures), &gone); err != nil {
		return fmt.Errorf("reading the figures of a purge: %w", err)
	}
	sums.Orders = sums.Plus(gone)
	sums.Purge = Purge{At: *r.PurgeTime, Orders: r.Purged, Waitlist: r.Waitlist}
	return nil
}

// owed is SQL for the units of a sale's orders in a state that passes: unpaid, or being refunded. It reads these orders
// alone. Every other live order has paid the price of its voucher.
func (l ledger) owed(status string) string {
	return "(SELECT COALESCE(SUM(quantity), 0) FROM " + l.db.UsingIndex("tb_voucher_order", "idx_order_state") +
		" WHERE status = " + status + " AND voucher_id = s.voucher_id AND kind = @seckill)"
}

// sales returns a page of sales, as Reports.Sales does, by one statement; limit 0: all of them.
func (l ledger) sales(
	ctx context.Context, shopID int64, phase Phase, before int64, limit int,
) ([]Sale, error) {
	var rows []struct {
		ID, ShopID, PayValue, Issued, Sold, Unpaid, Refunding int64
		Title                                                 string
		BeginTime, EndTime                                    time.Time
		CalledOff                                             *time.Time
		Phase                                                 Phase
	}
	ofShop, page := "", ""
	if shopID != 0 {
		ofShop = "AND v.shop_id = @shop "
	}
	if limit != 0 {
		page = " LIMIT @limit"
	}
	err := l.db.Read(ctx).Raw("SELECT v.id, v.shop_id, v.title, v.pay_value, s.begin_time, s.end_time, s.called_off, "+
		"s.issued, s.issued - s.stock - s.kept AS sold, "+l.owed("@unpaid")+" AS unpaid, "+
		l.owed("@refunding")+" AS refunding, "+phaseOfSale+" AS phase "+
		"FROM tb_seckill_voucher s JOIN tb_voucher v ON v.id = s.voucher_id WHERE v.shop_id <> @rehearsals "+ofShop+
		"AND s.voucher_id < @before AND (@phase = '' OR "+phaseOfSale+" = @phase) ORDER BY s.voucher_id DESC"+page,
		map[string]any{
			"now": l.db.LedgerClock(), "unpaid": order.Unpaid, "refunding": order.Refunding, "seckill": voucher.Seckill,
			"rehearsals": voucher.RehearsalShop, "shop": shopID, "before": before, "phase": string(phase),
			"limit": limit,
		}).Find(&rows).Error
	if err != nil {
		return nil, sqlkit.ReadError("reading all sales", err)
	}
	sales := make([]Sale, len(rows))
	for i, r := range rows {
		paid := r.Sold - r.Unpaid - r.Refunding
		sales[i] = Sale{
			VoucherID: r.ID, ShopID: r.ShopID, Title: r.Title, Begin: r.BeginTime, End: r.EndTime, Phase: r.Phase,
			CalledOff: sqlkit.At(r.CalledOff),
			Sums: SalesSums{
				Sales: 1, Issued: r.Issued, Sold: r.Sold, Paid: paid, Unpaid: r.Unpaid, Cents: paid * r.PayValue,
			},
		}
	}
	return sales, nil
}

// phaseOfSale is SQL for where a sale s is in its window.
const phaseOfSale = "CASE WHEN s.end_time <= @now THEN 'ended' WHEN s.begin_time > @now THEN 'coming' " +
	"ELSE 'running' END"

// salesSums returns the sums over all sales of each phase, by one statement.
func (l ledger) salesSums(ctx context.Context, shopID int64) (map[Phase]SalesSums, error) {
	all, err := l.sales(ctx, shopID, "", math.MaxInt64, 0)
	sums := make(map[Phase]SalesSums)
	for _, s := range all {
		sums[s.Phase] = sums[s.Phase].plus(s.Sums)
	}
	return sums, err
}

// The SQL for the money of a day.
const (
	ofShops = "FROM tb_payment p JOIN tb_voucher v ON v.id = p.voucher_id AND " + isOfShops + "WHERE "
	// isOfShops is the condition for a voucher v.
	isOfShops = "v.shop_id <> @rehearsals AND (@shop = 0 OR v.shop_id = @shop) "
	// lostToday is the part of a payment's money that disputes have cost today. Versions without lost_time note no more
	// than when a dispute was lost.
	lostToday = "(CASE WHEN p.dispute = @lost AND COALESCE(p.lost_time, p.dispute_time) >= @since " +
		"THEN p.disputed - p.lost_before ELSE 0 END)"
)

// taken adds up the money that came in, and that went back, since midnight. It is one statement, because a purge moves
// payments to tb_purge_day, and reads the payments by the indexes of their times.
func (l ledger) taken(ctx context.Context, shopID int64, midnight time.Time) (Taken, error) {
	var row struct{ Received, Receipts, Refunded, Refunds, Lost, Losses, Returns int64 }
	err := l.db.Read(ctx).Raw("SELECT i.received + g.received AS received, i.receipts + g.receipts AS receipts, "+
		"o.refunded + g.refunded AS refunded, o.refunds + g.refunds AS refunds, o.lost + g.lost AS lost, "+
		"o.losses + g.losses AS losses, o.returns + g.returns AS returns FROM "+
		"(SELECT COUNT(*) AS receipts, COALESCE(SUM(p.amount), 0) AS received "+
		ofShops+"p.receive_time >= @since) i, "+
		"(SELECT COUNT(*) AS returns, COALESCE(SUM(lost), 0) AS lost, COALESCE(SUM(lost <> 0), 0) AS losses, "+
		"COALESCE(SUM(refunded), 0) AS refunded, COALESCE(SUM(refunded <> 0), 0) AS refunds FROM "+
		// gone_before is the amount that went back before the last day with a return: it is not counted again.
		"(SELECT "+lostToday+" AS lost, "+gone+" - p.gone_before - "+lostToday+" AS refunded "+
		ofShops+"p.return_time >= @since AND p.receive_time IS NOT NULL) b) o, "+
		"(SELECT COALESCE(SUM(d.received), 0) AS received, COALESCE(SUM(d.receipts), 0) AS receipts, "+
		"COALESCE(SUM(d.refunded), 0) AS refunded, COALESCE(SUM(d.refunds), 0) AS refunds, "+
		"COALESCE(SUM(d.lost), 0) AS lost, COALESCE(SUM(d.losses), 0) AS losses, "+
		"COALESCE(SUM(d.returns), 0) AS returns FROM tb_purge_day d JOIN tb_voucher v ON v.id = d.voucher_id AND "+
		isOfShops+"WHERE d.day = @day) g",
		map[string]any{
			"since": midnight.UTC(), "day": midnight.Format(time.DateOnly), "rehearsals": voucher.RehearsalShop,
			"shop": shopID, "lost": payment.DisputeLost,
		}).Find(&row).Error
	if err != nil {
		return Taken{}, sqlkit.ReadError("adding up the money of a day", err)
	}
	return Taken{
		Since: midnight, Received: Flow{row.Receipts, row.Received},
		Returned: Flow{row.Returns, row.Refunded + row.Lost}, Refunded: Flow{row.Refunds, row.Refunded},
		Lost: Flow{row.Losses, row.Lost},
	}, nil
}
