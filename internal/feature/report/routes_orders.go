package report

// orderColumn is a column of an export of orders.
type orderColumn struct {
	head string
	what string // for the documents
	cell func(ExportRow) string
}

// orderColumns are the columns in their order. Programs read them by their heads; new ones go to the end, for people
// who count.
func orderColumns() []orderColumn {
	return []orderColumn{
		{"order_id", "18 digits", func(r ExportRow) string { return csvNumber(r.Order.ID) }},
		{"user_id", "who bought", func(r ExportRow) string { return csvNumber(r.Order.UserID) }},
		{
			"status",
			"as `GET /admin/order` has it; `expired` for one that was cancelled at its payment deadline or later",
			shownStatus,
		},
		{"units", "of the voucher", func(r ExportRow) string { return csvNumber(r.Order.Quantity.Units()) }},
		{"amount_cents", "what they cost, in cents", func(r ExportRow) string { return csvNumber(r.Order.Amount) }},
		{
			"reason", "why it could not be recorded; for `failed` alone",
			func(r ExportRow) string { return cell(string(r.Order.Reason)) },
		},
		{"recorded", "when it was recorded", func(r ExportRow) string { return csvTime(r.Order.CreatedAt) }},
		{
			"pay_before", "until when it was to be paid; empty for one that costs nothing",
			func(r ExportRow) string { return csvTime(r.Order.PayBefore) },
		},
		{"paid", "when the money came", func(r ExportRow) string { return csvTime(r.Order.PaidAt) }},
		{"redeemed", "when a till took its code", func(r ExportRow) string { return csvTime(r.Order.RedeemedAt) }},
		{
			"cancelled", "when it was cancelled, or expired",
			func(r ExportRow) string { return csvTime(r.Order.CancelledAt) },
		},
		{
			"refunding", "when the money was asked back",
			func(r ExportRow) string { return csvTime(r.Order.RefundingAt) },
		},
		{"refunded", "when it had gone back", func(r ExportRow) string { return csvTime(r.Order.RefundedAt) }},
		{
			"failed", "when it turned out to be impossible",
			func(r ExportRow) string { return csvTime(r.Order.FailedAt) },
		},
		{
			"lapsed", "when its code was past its date, unused",
			func(r ExportRow) string { return csvTime(r.Order.LapsedAt) },
		},
		{
			"code", "of its coupon, masked or whole; empty without one",
			func(r ExportRow) string { return cell(r.Coupon.Code) },
		},
		{
			"valid_until", "until when tills take the code; empty for ever",
			func(r ExportRow) string { return csvTime(r.Coupon.ValidUntil) },
		},
	}
}

// shownStatus returns the order's status, and "expired" for one that was not paid in time.
func shownStatus(row ExportRow) string {
	if row.Expired() {
		return "expired"
	}
	return row.Order.Status.String()
}

// orderHead returns the heads of the columns.
func orderHead() []string {
	var head []string
	for _, c := range orderColumns() {
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
