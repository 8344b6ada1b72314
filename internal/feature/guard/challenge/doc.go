// Package challenge makes proofs of work that a caller solves before they get a ticket, in the format of ALTCHA's
// proof of work v2, and checks their solutions. No store is asked. Challenges that are not solved are remembered in a
// table of a fixed size, so that an account that asks again gets the same one; to check a solution nothing is needed.
//
// It does not tell people from machines. It makes accounts cost processor time and memory: each solution takes scrypt
// with half a mebibyte some dozens of times, so that a processor's core has some tens of tickets in a second and a
// graphics card not thousands of times as many. The difficulty rises with what the same account and the same network
// asked lately, up to a bound that a slow telephone solves within a second.
//
// A challenge is bound to its user, its sale and the network that asked for it. Its counter is drawn beforehand below
// its difficulty, each as likely, so that nobody has the bad luck of a search without end, and nobody gains by
// beginning elsewhere than at nought; the key that belongs to the counter is signed, so that checking a solution
// costs two hashes and no scrypt.
//
// What a challenge is made of, a puzzle, costs a try of scrypt too. A pool keeps some of each counter, and one job
// refills it with half of one processor: some hundreds in a second. Puzzles go to one caller each, because one who
// has solved theirs may tell others. Where more are asked for than are made, networks take turns: those that solved
// lately come first, those that ask and do not solve last, and leave the pool's reserve to the others.
//
//	what happens                                   what the caller gets
//	no solution                                    a challenge
//	a solution of another user, sale or network    ErrUnsolved: another challenge, never a refusal
//	forged, altered, expired, another answer       ErrUnsolved: another challenge
//	the same solution twice                        the same as once: a ticket of the same user for the same sale
//	more ask than the pool can serve               ErrBusy after half a second at most: ask again
//	the same account asks again                    the same challenge, until it is solved or nearly over
//	an account or a network asks all the time      *budget.RateError: ask later
//	recent asks were forgotten (a restart)         an easier challenge
package challenge
