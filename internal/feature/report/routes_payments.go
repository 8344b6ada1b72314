package report

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/param"
	"seckill/internal/kit/invalid"
	"seckill/internal/order"
	"seckill/internal/voucher"
)

// paymentColumn is a column of an export of payments.
type paymentColumn struct {
	head string
	what string // for the documents
	cell func(p order.Payment, currency string) string
}

// paymentColumns are the columns in their order. Programs read them by their heads; new ones go to the end.
func paymentColumns() []paymentColumn {
	number := func(of func(order.Payment) int64) func(order.Payment, string) string {
		return func(p order.Payment, _ string) string { return csvNumber(of(p)) }
	}
	at := func(of func(order.Payment) time.Time) func(order.Payment, string) string {
		return func(p order.Payment, _ string) string { return csvTime(of(p)) }
	}
	text := func(of func(order.Payment) string) func(order.Payment, string) string {
		return func(p order.Payment, _ string) string { return cell(of(p)) }
	}
	return []paymentColumn{
		{"payment_id", "the provider knows it by this", text(func(p order.Payment) string { return p.ID })},
		{"order_id", "18 digits", number(func(p order.Payment) int64 { return p.OrderID })},
		{"voucher_id", "what was bought", number(func(p order.Payment) int64 { return p.VoucherID })},
		{"shop_id", "whose voucher that is", number(func(p order.Payment) int64 { return p.ShopID })},
		{"user_id", "who bought", number(func(p order.Payment) int64 { return p.UserID })},
		{"provider", "who moves the money", text(func(p order.Payment) string { return p.Provider })},
		{"reference", "the provider's own id of it", text(func(p order.Payment) string { return p.Reference })},
		{
			"state", "`open`, `received`, `late`, `refunding`, `refunded`, `stuck` or `closed`",
			text(func(p order.Payment) string { return p.State.String() }),
		},
		{"currency", "of all its amounts, as ISO 4217 has it", func(_ order.Payment, currency string) string {
			return cell(currency)
		}},
		{"amount_cents", "what was asked for, in cents", number(func(p order.Payment) int64 { return p.Amount })},
		{"received_cents", "what the provider has taken", number(order.Payment.Received)},
		{"returned_cents", "what has gone back as refunds", number(func(p order.Payment) int64 { return p.Returned })},
		{
			"dispute", "`none`, `open`, `won` or `lost`",
			text(func(p order.Payment) string { return p.Dispute.String() }),
		},
		{
			"disputed_cents", "what the dispute is about; it has gone back once the dispute is lost",
			number(func(p order.Payment) int64 { return p.Disputed }),
		},
		{"kept_cents", "what was received and has not gone back", number(order.Payment.Kept)},
		{"created", "when the buyer began to pay", at(func(p order.Payment) time.Time { return p.CreatedAt })},
		{"received", "when the provider had the money", at(func(p order.Payment) time.Time { return p.ReceivedAt })},
		{"refunding", "since when it was to go back", at(func(p order.Payment) time.Time { return p.RefundingAt })},
		{"refunded", "when all of it had gone back", at(func(p order.Payment) time.Time { return p.RefundedAt })},
		{
			"disputed", "when the dispute came to its state",
			at(func(p order.Payment) time.Time { return p.DisputedAt }),
		},
		{
			"stuck", "since when its provider refuses for good to send the money back",
			at(func(p order.Payment) time.Time { return p.StuckAt }),
		},
		{"refusal", "why, in the provider's words", text(func(p order.Payment) string { return p.Refusal })},
		{"closed", "when staff closed its refund", at(func(p order.Payment) time.Time { return p.ClosedAt })},
	}
}

// paymentHead returns the heads of the columns.
func paymentHead() []string {
	var head []string
	for _, c := range paymentColumns() {
		head = append(head, c.head)
	}
	return head
}

// paymentsCSV answers GET /admin/payments.csv: all payments that the query selects, a merchant's shop's only. It adds
// an entry to the audit trail before it sends anything.
func (h handlers) paymentsCSV(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	values, badQuery := param.ParseQuery(c.Request)
	f, badFilter, err := httpkit.ReadPaymentFilter(values, who, h.core.Zone)
	if err != nil {
		return httpkit.Answer{}, err
	}
	mark, badMark := values.Flag("bom")
	if err := invalid.Join(append(badFilter, badQuery, badMark)...); err != nil {
		return httpkit.Answer{}, err
	}
	columns, noted := paymentColumns(), c.Request.Method == http.MethodHead
	return h.sendCSV(c, who, csvFile{"payments.csv", mark}, paymentHead(), func(c *gin.Context, out *csvStream) error {
		return h.reports.Payments(c.Request.Context(), f, func(page []order.Payment) error {
			if !noted { // with the first page, so that nothing is noted that cannot be read
				noted = true
				e := voucher.Entry{
					By: httpkit.Author(c, who), Action: voucher.Exported, VoucherID: f.VoucherID, ShopID: f.ShopID,
					Changes: []voucher.FieldChange{{Field: "payments", To: c.Request.URL.RawQuery}},
				}
				if err := h.core.Note(c.Request.Context(), e); err != nil {
					return err
				}
			}
			line := make([]string, len(columns))
			for _, p := range page {
				for i, column := range columns {
					line[i] = column.cell(p, h.core.Currency)
				}
				out.line(line...)
			}
			return out.flush()
		})
	})
}
