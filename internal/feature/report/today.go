package report

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/param"
	"seckill/internal/kit/invalid"
	"seckill/internal/order"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher"
)

// Money is a number of payments, with their amounts.
type Money struct{ Payments, Cents int64 }

// Taken is the money that came in and the money that went back since a time, whatever became of its orders.
type Taken struct{ Received, Returned Money }

// Taken returns what a shop, or with 0 all shops, took and gave back since a time, without rehearsals.
// order.ErrUnavailable.
func (r *Reports) Taken(ctx context.Context, shopID int64, since time.Time) (taken Taken, err error) {
	ctx, cancel := context.WithTimeout(ctx, salesTimeout)
	defer cancel()
	if taken.Received, err = r.ledger.money(ctx, "receive_time", shopID, since); err == nil {
		taken.Returned, err = r.ledger.money(ctx, "refund_time", shopID, since)
	}
	return taken, order.OrUnavailable(err)
}

// money adds up the payments whose time in the column is not before since, by that column's index.
func (l ledger) money(ctx context.Context, column string, shopID int64, since time.Time) (Money, error) {
	var m Money
	err := l.db.Read(ctx).Raw("SELECT COUNT(*) AS payments, COALESCE(SUM(p.amount), 0) AS cents FROM tb_payment p "+
		"JOIN tb_voucher v ON v.id = p.voucher_id WHERE p."+column+" >= @since AND v.shop_id <> @rehearsals "+
		"AND (@shop = 0 OR v.shop_id = @shop)",
		map[string]any{"since": since.UTC(), "rehearsals": voucher.RehearsalShop, "shop": shopID}).Scan(&m).Error
	if err != nil {
		return Money{}, sqlkit.ReadError(fmt.Sprintf("adding up payments by %s", column), err)
	}
	return m, nil
}

// todayJSON is what today has brought.
type todayJSON struct {
	Since    time.Time `json:"since"` // midnight
	Zone     string    `json:"zone"`  // whose midnight: a name of the IANA database
	Received moneyJSON `json:"received"`
	Returned moneyJSON `json:"returned"`
}

type moneyJSON struct {
	Payments int64 `json:"payments"`
	Amount   int64 `json:"amount"` // cents
}

// today answers GET /admin/today: the money of the day, by the service's time zone.
func (h handlers) today(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	_, bad := param.ParseQuery(c.Request)
	if err := invalid.Join(bad); err != nil {
		return httpkit.Answer{}, err
	}
	since := midnight(h.core.Now(), h.core.Zone)
	taken, err := h.reports.Taken(c.Request.Context(), who.Only(), since)
	if err != nil {
		return httpkit.Answer{}, err
	}
	return httpkit.Answer{Status: http.StatusOK, Envelope: httpkit.Envelope{Data: todayJSON{
		Since: httpkit.ShownTime(since), Zone: h.core.Zone.String(),
		Received: moneyJSON{taken.Received.Payments, taken.Received.Cents},
		Returned: moneyJSON{taken.Returned.Payments, taken.Returned.Cents},
	}}}, nil
}

// midnight returns the beginning of now's day in the zone. Where clocks skip midnight that is the first moment after
// it.
func midnight(now time.Time, zone *time.Location) time.Time {
	year, month, day := now.In(zone).Date()
	at := time.Date(year, month, day, 0, 0, 0, 0, zone)
	if at.In(zone).Day() != day { // time.Date took the offset that ends there
		at = at.Add(time.Hour)
	}
	return at
}
