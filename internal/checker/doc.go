// Package checker decides whether a sale kept the service's promises. It accesses no store and sends no request: it
// compares the data of several sources about one sale after everything has come to rest, and returns every
// contradiction.
//
//	the clients' record      every attempt of a buyer, with its answer if there was one         [Answer]
//	lists of orders          the ledger's rows, or orders as the service shows them             [View]
//	stocks                   the ledger's, and the one shown to buyers                          [Evidence]
//	Redis                    stock, waiting entries, dead letters, holders                      [Redis]
//
// The lists of orders are authoritative. They are compared with the record, which the service cannot change afterwards;
// the stocks and Redis have to match both.
//
// Missing sources are left out, and [Report.Undecided] lists the invariants that only they could have decided, so that
// a report without findings does not claim more than was checked.
//
//	I1  no oversell         live orders against the units issued
//	I2  one per user        no two live orders of one user; the holders in Redis match the live orders
//	I3  settled             each order named by an answer exists, with its owner, in a requested state
//	I4  asked for           no order of a user who never asked
//	I5  conservation        ledger, Redis and shown stock, each plus the live orders, add up to the units issued
//	I6  true answers        a winner gets only their own order; "sold out" only if all units could be gone
//	I7  replay harmless     not visible by itself: an entry that took effect twice breaks I1, I2 or I5
//	I8  recovery            nothing waits any more; the caller decides how long to wait before the check
//	I9  returned once       no surplus of units in a sale in which units were given back
//	I10 ids                 positive, each for one user, voucher and order
//	I12 unknown resolved    every buyer who kept asking has an outcome
//
// The checks do not depend on faults: the invariants hold after any fault in which no store lost acknowledged writes.
// With [Evidence.Loss], invariants that such a loss excuses are skipped, and lost orders are listed.
//
// Package linear checks short records differently: whether the answers could come from a shop that serves one request
// at a time.
package checker
