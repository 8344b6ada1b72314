// Package redemption is what a buyer does with what they have bought: a paid order of a voucher that says so has a
// code, and a till of its shop redeems it, once.
//
//	Code      what the buyer shows: random, unique, with a checksum under a key that only the service has
//	Coupon    a paid order as tills see it; Coupon.Do decides everything that tills do with it
//	Tills     checks codes, limits wrong ones, and gives commands of many tills to the ledger in shared transactions
//	lapser    ends coupons whose date has passed; one instance at a time, under a fenced lock
//	Ledger    tb_coupon: codes, their reservations, and which request redeemed them; its hook makes the code of an
//	          order in the transaction that pays for it
//
// The states, of which those in capitals are the order's (transition.go of package order):
//
//	          ┌──reserve──► reserved ──redeem──► REDEEMED
//	PAID ─────┤                │ └──release, or two minutes──► PAID
//	  │ │ └───┴──redeem──► REDEEMED
//	  │ └──refund──► REFUNDING      not while it is reserved, and not past its date
//	  └──its date──► LAPSED         not while it is reserved
//
// The ledger is authoritative, for times too: whatever changes a coupon holds the lock of its order's row, so that of
// a redeem and a refund, of a lapse and a reserve, of two redeems, the first to lock wins and the other one sees it.
// Redis knows nothing of coupons: a redeemed and a lapsed order keep their unit.
//
// What can go wrong, and what then happens:
//
//	a redeem's answer is lost         asked again with its key it says that it has redeemed the coupon
//	the process dies, or COMMIT's     the transaction is there or not; the same key tells
//	  reply is lost
//	a till dies with a reservation    it ends after two minutes, or the same till reserves anew
//	a redeem arrives late             it names a reservation that is over, and is refused
//	the ledger is away                tills get order.ErrUnavailable; a code with a wrong checksum is refused all
//	                                  the same
//	the key was rotated               old codes name the old key, which stays
//	codes are guessed                 one in a million has a right checksum; ten wrong ones at once, then six a minute
//	the lapser does not run           tills and refunds go by the date
//	two lapsers hold the lock         the ledger knows the higher token
package redemption
