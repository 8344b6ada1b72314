package report

import "seckill/internal/order"

// orderColumn is a column of an export of orders.
type orderColumn struct {
	head string
	cell func(ExportRow) string
}

// orderColumns are the columns in their order. Programs read them by their heads; new ones go to the end, for people
// who count.
func orderColumns(currency string) []orderColumn {
	return []orderColumn{
		{"id", func(r ExportRow) string { return csvNumber(r.Order.ID) }},
		{"userId", func(r ExportRow) string { return csvNumber(r.Order.UserID) }},
		{"status", func(r ExportRow) string { return r.Order.Status.String() }},
		{"quantity", func(r ExportRow) string { return csvNumber(r.Order.Quantity.Units()) }},
		{"amount", func(r ExportRow) string { return csvNumber(r.Order.Amount) }},
		{"currency", func(ExportRow) string { return cell(currency) }},
		{"reason", func(r ExportRow) string { return cell(string(r.Order.Reason)) }},
		{"whyCode", whyCode},
		{"createTime", func(r ExportRow) string { return csvTime(r.Order.CreatedAt) }},
		{"payBefore", func(r ExportRow) string { return csvTime(r.Order.PayBefore) }},
		{"payTime", func(r ExportRow) string { return csvTime(r.Order.PaidAt) }},
		{"redeemTime", func(r ExportRow) string { return csvTime(r.Order.RedeemedAt) }},
		{"cancelTime", func(r ExportRow) string { return csvTime(r.Order.CancelledAt) }},
		{"refundingTime", func(r ExportRow) string { return csvTime(r.Order.RefundingAt) }},
		{"refundTime", func(r ExportRow) string { return csvTime(r.Order.RefundedAt) }},
		{"failTime", func(r ExportRow) string { return csvTime(r.Order.FailedAt) }},
		{"lapseTime", func(r ExportRow) string { return csvTime(r.Order.LapsedAt) }},
		{"coupon.code", func(r ExportRow) string { return cell(r.Coupon.Code) }},
		{"coupon.validUntil", func(r ExportRow) string { return csvTime(r.Coupon.ValidUntil) }},
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
