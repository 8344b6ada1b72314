// Package order defines orders: their states and transitions, the claims that become orders, and the errors. Four
// packages beside it define one subject each:
//
//	gate       requests to the admission script, and its outcomes with their consequences
//	operation  the numbered changes of a sale that Redis applies
//	payment    payments, their states and the notices of providers
//	reason     why something happened to an order
//
// The parts in the other subpackages work with these:
//
//	service    what HTTP calls: buy, look up, wait, cancel, pay, refund; sells ordinary vouchers; expires unpaid
//	           orders
//	admission  a batcher in front of each partition; its calls run scripts/seckill.lua. A cache answers "sold out"
//	           ── the buyer has an answer; the order is in the partition's stream ──
//	recorder   a consumer of the stream: one transaction per batch, then XACK + XDEL. Conflicts, dead letters
//	           ── the order has its row ──
//	outbox     applies to Redis the operations that changes of orders and admins have written into the ledger
//	recovery   keeps every sale in Redis as the ledger says, and rebuilds those that are wrong
//	audit      checks while sales run that all units are accounted for; statistics of running sales
//	catalog    an instance's cache of vouchers
//	ordertest  test doubles
//
// The states of an order (transition.go) and what leads from one to the next:
//
//	queued ──► unpaid ──pay──► paid ──redeem──► redeemed;  ──lapse──► lapsed, past its date
//	   │         │             │ ▲ └──refund──► refunding ──► refunded, a unit comes back
//	   ▼         │             │ └──revive── a late payment takes a unit again
//	 failed      └─cancel, expire──► cancelled, a unit comes back
//
// The ledger (MySQL) is authoritative: an order exists for good once its row is committed, and the ledger's stock has
// the last word. Redis decides who gets in, quickly, and can be rebuilt from the ledger and from what it still holds
// itself. The rules that keep the two in step are numbered in docs/architecture.md and cited by number.
//
// Each part's package comment lists the failures that the part handles. There is one failure that no part can handle:
// both stores lose the same acknowledged write. Redis has no append-only file then, and the instances that remembered
// the write die together with it.
//
// The package imports no framework. Interfaces stand beside their callers; those that several parts share are in
// ports.go.
package order
