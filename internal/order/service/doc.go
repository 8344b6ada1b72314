// Package service serves buyers, admins and payment providers, and runs the jobs that change orders by themselves.
//
//	Purchases    sells seckill vouchers, answers for a buyer's orders, and streams their changes (Watch)
//	DirectSales  sells ordinary vouchers, which have no sale: straight into the ledger
//	Lookup       finds an order, recorded or still queued, for its owner: many lookups share few queries
//	Orders       cancels for the owner, returns an order's history, finds orders for admins
//	Payments     takes money, on a provider's signed notice, and gives it back
//	Expirer      cancels orders that are not paid for in time; one instance at a time, under a fenced lock
//	Notifier     notifies waiting callers when their order gets its row, and watchers of every change
//
// From the click to the end of an order:
//
//	Purchases.Buy ──► admission ──► accepted: the order is queued ──► (recorder) its row ──► Notifier
//	Orders.Cancel, Payments, Expirer ──► one transaction: the state, its history, an operation ──► outbox, Notifier
//
// The ledger is authoritative: an order exists for good once its row is committed, and its state is in the row
// (transition.go of package order draws the states). Before that, an order is queued while it makes its user a holder
// in Redis.
//
// What can go wrong, and what then happens:
//
//	a purchase's answer is lost      repeating the purchase answers for certain: it names the order
//	the ledger is away               purchases go on; calls that need a row are ErrUnavailable, and waiting goes on
//	the process stops                waiting callers get the last known state; watchers get ErrStopping
//	Redis is away after a cancel     the order is cancelled; the outbox gives its unit back once it gets through
//	a notice comes late, or twice    the ledger decides by the payment's state; it takes a unit, or the money goes
//	                                 back
//	the provider refuses a refund    it is retried with growing pauses; other refunds are not held up
//	the provider does not answer     refunds wait; late payments do not
//	two expirers hold the lock       the ledger refuses the lower token; that expirer changes nothing and stops
package service
