// Package checker decides whether a sale kept what the service promises. It knows no store and sends no request: it
// is given what several sources say about one sale at a quiescent point, and returns every contradiction.
//
//	the clients' record      every attempt of a buyer with its answer, or without one           [Answer]
//	lists of orders          the ledger's rows, or orders as the service shows them             [View]
//	stocks                   the ledger's, and the one that buyers are shown                    [Evidence]
//	Redis                    stock, waiting entries, dead letters, holders                      [Redis]
//
// Authoritative are the lists of orders. Against them stands the record, which the service cannot change afterwards;
// the stocks and Redis have to add up with both.
//
// A source that is missing is left out. What only it could have decided is in [Report.Undecided], so that a report
// without findings does not claim more than was checked.
//
//	I1  no oversell         live orders against the units issued
//	I2  one per user        two live orders of one user; holders in Redis against live orders
//	I3  settled             each order that an answer named is found, with its owner, in a state that was asked for
//	I4  asked for           no order of a user who never asked
//	I5  conservation        ledger, Redis, and the stock shown, each with the live orders, come to the units issued
//	I6  true answers        a winner is told their order and no other; "sold out" only when all units could be gone
//	I7  replay harmless     has no trace of its own: an entry that took effect twice breaks I1, I2 or I5
//	I8  recovery            nothing waits any more; how long to wait before checking is up to the caller
//	I9  returned once       more units than there can be, in a sale in which units came back
//	I10 ids                 positive, and each of one user, voucher and order
//	I12 unknown resolved    every buyer who kept asking has an outcome
//
// Nothing here depends on faults: what is asserted holds after any fault in which no store lost what it had
// acknowledged. With [Evidence.Loss] the invariants that such a loss excuses are left out, and what was lost is
// listed.
//
// Package linear checks short records in another way: whether the answers could come from a shop that serves one
// request at a time.
package checker
