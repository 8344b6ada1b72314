package report

import (
	"time"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/param"
	"seckill/internal/kit/invalid"
	"seckill/internal/order"
	"seckill/internal/voucher"
)

// paymentColumns are the columns of an export of payments.
func paymentColumns(currency string) []column[order.Payment] {
	number := func(of func(order.Payment) int64) func(order.Payment) string {
		return func(p order.Payment) string { return csvNumber(of(p)) }
	}
	at := func(of func(order.Payment) time.Time) func(order.Payment) string {
		return func(p order.Payment) string { return csvTime(of(p)) }
	}
	text := func(of func(order.Payment) string) func(order.Payment) string {
		return func(p order.Payment) string { return cell(of(p)) }
	}
	return []column[order.Payment]{
		{"id", text(func(p order.Payment) string { return p.ID })},
		{"orderId", number(func(p order.Payment) int64 { return p.OrderID })},
		{"voucherId", number(func(p order.Payment) int64 { return p.VoucherID })},
		{"shopId", number(func(p order.Payment) int64 { return p.ShopID })},
		{"userId", number(func(p order.Payment) int64 { return p.UserID })},
		{"provider", text(func(p order.Payment) string { return p.Provider })},
		{"reference", text(func(p order.Payment) string { return p.Reference })},
		{"state", text(func(p order.Payment) string { return p.State.String() })},
		{"amount", number(func(p order.Payment) int64 { return p.Amount })},
		{"currency", func(order.Payment) string { return cell(currency) }},
		{"receivedAmount", number(order.Payment.Received)},
		{"returnedAmount", number(func(p order.Payment) int64 { return p.Returned })},
		{"dispute", text(func(p order.Payment) string { return p.Dispute.String() })},
		{"disputedAmount", number(func(p order.Payment) int64 { return p.Disputed })},
		{"keptAmount", number(order.Payment.Kept)},
		{"createTime", at(func(p order.Payment) time.Time { return p.CreatedAt })},
		{"receiveTime", at(func(p order.Payment) time.Time { return p.ReceivedAt })},
		{"refundingTime", at(func(p order.Payment) time.Time { return p.RefundingAt })},
		{"refundTime", at(func(p order.Payment) time.Time { return p.RefundedAt })},
		{"disputeTime", at(func(p order.Payment) time.Time { return p.DisputedAt })},
		{"stuckTime", at(func(p order.Payment) time.Time { return p.StuckAt })},
		{"refusal", text(func(p order.Payment) string { return p.Refusal })},
		{"closeTime", at(func(p order.Payment) time.Time { return p.ClosedAt })},
	}
}

// paymentsCSV answers GET /admin/payments.csv: all payments that the query selects; for a merchant, only their shop's.
// It adds an entry to the audit trail before it sends anything.
func (h handlers) paymentsCSV(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	values, badQuery := param.ParseQuery(c.Request)
	f, badFilter, err := httpkit.ReadPaymentFilter(values, who, h.front.Zone)
	if err != nil {
		return httpkit.Answer{}, err
	}
	mark, badMark := values.Flag("bom")
	if err := invalid.Join(append(badFilter, badQuery, badMark)...); err != nil {
		return httpkit.Answer{}, err
	}
	columns := paymentColumns(h.front.Currency)
	e := voucher.Entry{
		Action: voucher.Exported, VoucherID: f.VoucherID, ShopID: f.ShopID,
		Changes: []voucher.FieldChange{{Field: "payments", To: c.Request.URL.RawQuery}},
	}
	file := csvFile{"payments.csv", mark}
	return h.sendCSV(c, who, file, headsOf(columns), func(c *gin.Context, out *csvStream) error {
		note := h.noteOnce(c, who, e)
		return h.reports.Payments(c.Request.Context(), f, func(page []order.Payment) error {
			if err := note(); err != nil {
				return err
			}
			return addLines(out, columns, page)
		})
	})
}
