// Package challenge makes proofs of work that a caller solves before they get a ticket, in the format of ALTCHA's
// proof of work v2, and checks their solutions. It asks no store. It remembers unsolved challenges in a table of a
// fixed size, so that an account that asks again gets the same challenge; checking a solution does not need the table.
//
// It does not tell people from machines. It makes accounts cost processor time and memory: each solution takes scrypt
// with half a mebibyte some dozens of times, so that a processor's core gets some tens of tickets in a second, and a
// graphics card not thousands of times as many. The difficulty rises with the recent requests of the same account and
// of the same network, up to a bound that a slow telephone solves within a second.
//
// A challenge is bound to its user, its sale and the network that asked for it. Its counter, which the caller has to
// find, is drawn in advance below its difficulty, all with the same probability: no search is endless, and none gains
// by starting elsewhere than at zero. The key that belongs to the counter is signed, so that checking a solution costs
// two hashes and no scrypt.
//
// The expensive part of a challenge, its puzzle, costs a try of scrypt too. A pool keeps some puzzles of each counter,
// and one job refills it with half of one processor: some hundreds in a second. Each puzzle goes to one caller, because
// a caller who has solved it may tell others. When more puzzles are asked for than are made, networks take turns: those
// that solved lately come first; those that ask and do not solve come last, and leave the pool's reserve to the others.
//
//	what happens                                   what the caller gets
//	no solution                                    a challenge
//	a solution of another user, sale or network    ErrUnsolved: another challenge, never a refusal
//	forged, altered, expired, another answer       ErrUnsolved: another challenge
//	the same solution twice                        a ticket of the same user for the same sale, as the first time
//	more ask than the pool can serve               ErrBusy after half a second at most: ask again
//	the same account asks again                    the same challenge, until it is solved or nearly over
//	an account or a network asks all the time      *budget.RateError: ask later
//	recent asks were forgotten (a restart)         an easier challenge
package challenge
