package report

import "seckill/internal/order/reason"

// orderColumns are the columns of an export of orders.
func orderColumns(currency string) []column[ExportRow] {
	return []column[ExportRow]{
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
		{"coupon.code", func(r ExportRow) string { return cell(r.Coupon["code"]) }},
		{"coupon.validUntil", func(r ExportRow) string { return r.Coupon["validUntil"] }},
	}
}

// whyCode returns the reason of a cancellation: that the order was not paid in time, else "".
func whyCode(row ExportRow) string {
	if row.Expired() {
		return string(reason.NotPaidInTime)
	}
	return ""
}
