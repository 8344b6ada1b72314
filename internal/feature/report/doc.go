// Package report reports on sales: how their requests were answered, the states of their orders, an overview of all
// sales, and files of these for spreadsheets and programs.
//
//	Reports.Of     ◄── sums, one statement ◄── tb_voucher_order
//	               ◄── minutes, page by page ◄── tb_sale_minute, which order/timeline writes
//	               ◄── Members: waiting list, guards
//	Reports.Orders ◄── orders, page by page ◄── tb_voucher_order
//	               ◄── Members: coupons
//
// It writes nothing but an entry in the audit trail for each export of orders. The ledger is authoritative for orders
// and money: one statement reads all sums of a report, so they are of one moment. An export of orders shows each
// order as it was when its page was read. (A page is a part that one query reads.)
//
// What can go wrong, and what then happens:
//
//	the ledger hangs or is away   503; an export that has begun is cut off, without its last line
//	a minute cannot be read       it is left out, and the report contains the number of such minutes
//	guards cannot be read         the report comes without their figures, with a mark
package report
