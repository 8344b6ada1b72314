// Package redemption redeems paid orders: if the voucher is redeemable, a paid order has a code, and a till of the
// voucher's shop redeems it, once.
//
//	Code      shown by the buyer: random, unique, with a checksum under a key that only the service has
//	Coupon    a paid order as tills see it; Coupon.Do decides everything that tills do with it
//	Tills     checks codes, limits wrong ones, and gives commands of many tills to the ledger in shared transactions
//	lapser    ends coupons whose date has passed; one instance at a time, under a fenced lock
//	Ledger    tb_coupon: codes, their reservations, and which request redeemed them; its hook makes the code of an
//	          order in the transaction that pays for it
//
// The states; those in capitals are the order's (transition.go of package order):
//
//	          ┌──reserve──► reserved ──redeem──► REDEEMED
//	PAID ─────┤                │ └──release, or two minutes──► PAID
//	  │ │ └───┴──redeem──► REDEEMED
//	  │ └──refund──► REFUNDING      not while it is reserved, and not past its date
//	  └──its date──► LAPSED         not while it is reserved
//
// The ledger is authoritative, and so is its clock. Every change of a coupon holds the lock of its order's row. So if
// a redeem and a refund, a lapse and a reserve, or two redeems come at once, the first to lock wins, and the other sees
// its change. Redis knows nothing of coupons: redeemed and lapsed orders keep their units.
//
// What can go wrong, and what then happens:
//
//	a redeem's answer is lost         repeated with its key, it answers that it has redeemed the coupon
//	the process dies, or COMMIT's     the transaction has taken effect or not; repeating it with its key shows which
//	  reply is lost
//	a till dies with a reservation    the reservation ends after two minutes, or the same till reserves again
//	a redeem arrives late             it names a reservation that is over, and is refused
//	the ledger is away                tills get order.ErrUnavailable; codes with a wrong checksum are still refused
//	the key was rotated               old codes name the old key, which stays
//	codes are guessed                 one in a million has a right checksum; a till may try ten wrong codes at once,
//	                                  then six a minute
//	the lapser does not run           tills and refunds check the date themselves
//	two lapsers hold the lock         the ledger refuses the lower token
package redemption
