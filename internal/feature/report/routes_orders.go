package report

import "seckill/internal/order"

// orderColumn is a column of an export of orders.
type orderColumn struct {
	head string
	what string // for the documents
	cell func(ExportRow) string
}

// orderColumns are the columns in their order. Programs read them by their heads; new ones go to the end, for people
// who count.
func orderColumns(currency string) []orderColumn {
	return []orderColumn{
		{"id", "18 digits", func(r ExportRow) string { return csvNumber(r.Order.ID) }},
		{"userId", "who bought", func(r ExportRow) string { return csvNumber(r.Order.UserID) }},
		{
			"status", "as `GET /admin/order` has it",
			func(r ExportRow) string { return r.Order.Status.String() },
		},
		{"quantity", "units of the voucher", func(r ExportRow) string { return csvNumber(r.Order.Quantity.Units()) }},
		{"amount", "what they cost, in cents", func(r ExportRow) string { return csvNumber(r.Order.Amount) }},
		{"currency", "of the amount, as ISO 4217 has it", func(ExportRow) string { return cell(currency) }},
		{
			"reason", "why it could not be recorded; for `failed` alone",
			func(r ExportRow) string { return cell(string(r.Order.Reason)) },
		},
		{"whyCode", "`NOT_PAID_IN_TIME` for one that was cancelled at its payment deadline or later", whyCode},
		{"createTime", "when it was recorded", func(r ExportRow) string { return csvTime(r.Order.CreatedAt) }},
		{
			"payBefore", "until when it was to be paid; empty for one that costs nothing",
			func(r ExportRow) string { return csvTime(r.Order.PayBefore) },
		},
		{"payTime", "when the money came", func(r ExportRow) string { return csvTime(r.Order.PaidAt) }},
		{"redeemTime", "when a till took its code", func(r ExportRow) string { return csvTime(r.Order.RedeemedAt) }},
		{
			"cancelTime", "when it was cancelled, or expired",
			func(r ExportRow) string { return csvTime(r.Order.CancelledAt) },
		},
		{
			"refundingTime", "when the money was asked back",
			func(r ExportRow) string { return csvTime(r.Order.RefundingAt) },
		},
		{"refundTime", "when it had gone back", func(r ExportRow) string { return csvTime(r.Order.RefundedAt) }},
		{
			"failTime", "when it turned out to be impossible",
			func(r ExportRow) string { return csvTime(r.Order.FailedAt) },
		},
		{
			"lapseTime", "when its code was past its date, unused",
			func(r ExportRow) string { return csvTime(r.Order.LapsedAt) },
		},
		{
			"coupon.code", "of its coupon, masked or whole; empty without one",
			func(r ExportRow) string { return cell(r.Coupon.Code) },
		},
		{
			"coupon.validUntil", "until when tills take the code; empty for ever",
			func(r ExportRow) string { return csvTime(r.Coupon.ValidUntil) },
		},
	}
}

// whyCode returns why the order was cancelled, of one that was not paid in time.
func whyCode(row ExportRow) string {
	if row.Expired() {
		return string(order.NotPaidInTime)
	}
	return ""
}

// orderHead returns the heads of the columns.
func orderHead() []string {
	var head []string
	for _, c := range orderColumns("") {
		head = append(head, c.head)
	}
	return head
}

// orderLine returns an order's line under them.
func orderLine(columns []orderColumn, row ExportRow) []string {
	line := make([]string, len(columns))
	for i, c := range columns {
		line[i] = c.cell(row)
	}
	return line
}
