package report

import (
	"time"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/param"
	"seckill/internal/kit/invalid"
	"seckill/internal/order/payment"
	"seckill/internal/voucher"
)

// paymentColumns are the columns of an export of payments.
func paymentColumns(currency string) []column[payment.Payment] {
	number := func(of func(payment.Payment) int64) func(payment.Payment) string {
		return func(p payment.Payment) string { return csvNumber(of(p)) }
	}
	at := func(of func(payment.Payment) time.Time) func(payment.Payment) string {
		return func(p payment.Payment) string { return csvTime(of(p)) }
	}
	text := func(of func(payment.Payment) string) func(payment.Payment) string {
		return func(p payment.Payment) string { return cell(of(p)) }
	}
	return []column[payment.Payment]{
		{"id", text(func(p payment.Payment) string { return p.ID })},
		{"orderId", number(func(p payment.Payment) int64 { return p.OrderID })},
		{"voucherId", number(func(p payment.Payment) int64 { return p.VoucherID })},
		{"shopId", number(func(p payment.Payment) int64 { return p.ShopID })},
		{"userId", number(func(p payment.Payment) int64 { return p.UserID })},
		{"provider", text(func(p payment.Payment) string { return p.Provider })},
		{"reference", text(func(p payment.Payment) string { return p.Reference })},
		{"state", text(func(p payment.Payment) string { return p.State.String() })},
		{"amount", number(func(p payment.Payment) int64 { return p.Amount })},
		{"currency", func(payment.Payment) string { return cell(currency) }},
		{"receivedAmount", number(payment.Payment.Received)},
		{"returnedAmount", number(func(p payment.Payment) int64 { return p.Returned })},
		{"dispute", text(func(p payment.Payment) string { return p.Dispute.String() })},
		{"disputedAmount", number(func(p payment.Payment) int64 { return p.Disputed })},
		{"keptAmount", number(payment.Payment.Kept)},
		{"createTime", at(func(p payment.Payment) time.Time { return p.CreatedAt })},
		{"receiveTime", at(func(p payment.Payment) time.Time { return p.ReceivedAt })},
		{"refundingTime", at(func(p payment.Payment) time.Time { return p.RefundingAt })},
		{"refundTime", at(func(p payment.Payment) time.Time { return p.RefundedAt })},
		{"disputeTime", at(func(p payment.Payment) time.Time { return p.DisputedAt })},
		{"stuckTime", at(func(p payment.Payment) time.Time { return p.StuckAt })},
		{"refusal", text(func(p payment.Payment) string { return p.Refusal })},
		{"closeTime", at(func(p payment.Payment) time.Time { return p.ClosedAt })},
		{"refundedAmount", number(payment.Payment.RefundedAmount)},
		{"lostAmount", number(payment.Payment.LostAmount)},
		{"progress", text(payment.Payment.Said)},
		{"progressTime", at(func(p payment.Payment) time.Time { return p.ProgressAt })},
		{"progressReason", text(func(p payment.Payment) string { return p.Failure })},
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
		return h.reports.Payments(c.Request.Context(), f, func(page []payment.Payment) error {
			if err := note(); err != nil {
				return err
			}
			return addLines(out, columns, page)
		})
	})
}
