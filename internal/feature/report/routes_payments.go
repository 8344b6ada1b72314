package report

import (
	"maps"
	"time"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/param"
	"seckill/internal/kit/invalid"
	"seckill/internal/order/payment"
	"seckill/internal/voucher"
)

// paymentColumns are the columns of an export of payments. names are those of shops.
func paymentColumns(currency string, names map[int64]string) []column[payment.Payment] {
	return []column[payment.Payment]{
		text("id", func(p payment.Payment) string { return p.ID }),
		id("orderId", func(p payment.Payment) int64 { return p.OrderID }),
		id("voucherId", func(p payment.Payment) int64 { return p.VoucherID }),
		id("shopId", func(p payment.Payment) int64 { return p.ShopID }),
		id("userId", func(p payment.Payment) int64 { return p.UserID }),
		text("provider", func(p payment.Payment) string { return p.Provider }),
		text("reference", func(p payment.Payment) string { return p.Reference }),
		text("state", func(p payment.Payment) string { return p.State.String() }),
		amount("amount", func(p payment.Payment) int64 { return p.Amount }),
		text("currency", func(payment.Payment) string { return currency }),
		amount("receivedAmount", payment.Payment.Received),
		amount("returnedAmount", func(p payment.Payment) int64 { return p.Returned }),
		text("dispute", func(p payment.Payment) string { return p.Dispute.String() }),
		amount("disputedAmount", func(p payment.Payment) int64 { return p.Disputed }),
		amount("keptAmount", payment.Payment.Kept),
		at("createTime", func(p payment.Payment) time.Time { return p.CreatedAt }),
		at("receiveTime", func(p payment.Payment) time.Time { return p.ReceivedAt }),
		at("refundingTime", func(p payment.Payment) time.Time { return p.RefundingAt }),
		at("refundTime", func(p payment.Payment) time.Time { return p.RefundedAt }),
		at("disputeTime", func(p payment.Payment) time.Time { return p.DisputedAt }),
		at("stuckTime", func(p payment.Payment) time.Time { return p.StuckAt }),
		text("refusal", func(p payment.Payment) string { return p.Refusal }),
		at("closeTime", func(p payment.Payment) time.Time { return p.ClosedAt }),
		amount("refundedAmount", payment.Payment.RefundedAmount),
		amount("lostAmount", payment.Payment.LostAmount),
		text("progress", payment.Payment.Said),
		at("progressTime", func(p payment.Payment) time.Time { return p.ProgressAt }),
		text("progressReason", func(p payment.Payment) string { return p.Failure }),
		text("shopName", func(p payment.Payment) string { return names[p.ShopID] }),
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
	form, badMark, badBook := readForm(values)
	if err := invalid.Join(append(badFilter, badQuery, badMark, badBook)...); err != nil {
		return httpkit.Answer{}, err
	}
	names := make(map[int64]string) // of the shops on a page
	columns := paymentColumns(h.front.Currency, names)
	e := voucher.Entry{
		Action: voucher.Exported, VoucherID: f.VoucherID, ShopID: f.ShopID,
		Changes: []voucher.FieldChange{{Field: "payments", To: c.Request.URL.RawQuery}},
	}
	all := file{"payments", form}
	return h.sendFile(c, who, all, headsOf(columns), func(c *gin.Context, out *fileStream) error {
		note := h.noteOnce(c, who, e)
		return h.reports.Payments(c.Request.Context(), f, func(page []payment.Payment) error {
			if err := note(); err != nil {
				return err
			}
			clear(names)
			maps.Copy(names, httpkit.ShopNames(c.Request.Context(), h.front.Members, page,
				func(p payment.Payment) int64 { return p.ShopID }))
			return addLines(out, columns, page)
		})
	})
}
