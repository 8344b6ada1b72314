// Package report is what a sale leaves behind: how its requests were answered, second by second and for good, and
// what became of its orders.
//
//	StatsFlusher ──► Timeline.Add ──► a minute of a sale, in memory ──► every 5 s: Ledger.PutMinutes
//	                                                                              │
//	Reports.Of ◄── Ledger.Sums, one statement ◄── tb_voucher_order               ▼
//	           ◄── Ledger.Minutes, page by page ◄─────────────────────── tb_sale_minute
//	           ◄── GuardFigures ◄── Redis, for thirty days
//
// The ledger is authoritative for orders and money: all sums of a report are read by one statement, so that they are
// of one moment. The timeline is what instances have counted: each writes rows of its own, a row for each sale and
// minute in which something was asked. A row is written whole each time, and an older one never replaces a newer one,
// so that writing it twice changes nothing. It is bounded: 1,440 rows a day for each instance and sale at most, none
// without requests. Seconds are those of the instances' clocks.
//
// What can go wrong, and what then happens:
//
//	the process dies              at most five seconds of this instance's counts are missing
//	the ledger hangs or is away   purchases do not notice; minutes are kept in memory and written later; beyond
//	                              2,048 of them the oldest are lost, which is logged
//	the reply to a write is lost  it is written again, with the same result
//	two instances, one sale       each has its rows; a report adds them up
//	a row holds nonsense          it is left out, and the report says how many were
//	Redis hangs or is away        a report lacks what guards did, and says so
//	orders change during a report its sums are of one moment; an export of orders has each row as it was when it was
//	                              read
package report
