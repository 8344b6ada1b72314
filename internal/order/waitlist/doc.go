// Package waitlist offers units that come back to a sold-out sale to those who wait for them, in the order in which
// they joined.
//
//	waiting ──a unit comes back──► OFFERED ──accept──► ACCEPTED ──Redis has no other order──► bought: an order
//	   │                             │  │                  └──Redis has one──► refused
//	   └──leave──► left ◄──leave─────┘  └──the deadline──► missed
//
// The unit of an offer that ends without an order is offered to the next, three times in all; then it goes on sale.
// When the sale ends, so do all places but the accepted ones.
//
// The ledger is authoritative: an offer is written in the transaction that gives the unit back, instead of raising
// the stock, so that stock + offered units + units of live orders = issued. Redis knows nothing of offers: a rebuild
// opens the stock alone. What takes a unit in the capital states holds the sale's row lock.
//
// What can go wrong, and what then happens:
//
//	the answer to a join is lost      joining again gives the same place
//	the answer to an accept is lost   accepting again gives the same order
//	the process dies after an accept  its operation is pending: any outbox has Redis asked, and completes it
//	a rebuild comes between           the operation is void, and Redis is asked again (Ledger.SeeToOffers)
//	the ledger is away                nobody joins, offers stand still; deadlines go by the ledger's clock
//	Redis is away                     offers are made and end; who accepted waits
//	two instances see to offers       the ledger knows the higher token
package waitlist
