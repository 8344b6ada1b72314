// Package challenge makes proofs of work that a caller solves before they get a ticket, in the format of ALTCHA's proof of work
// v2, and checks their solutions. No store is asked, and no challenge is remembered.
//
// It does not tell people from machines. It makes accounts cost processor time and memory: each solution takes scrypt with
// half a mebibyte some dozens of times, so that a processor's core has some tens of tickets in a second and a graphics card
// not thousands of times as many. The difficulty rises with what the same account and the same network asked lately, up to a
// bound that a slow telephone solves within a second.
//
// A challenge is bound to its user, its sale and the network that asked for it. Its counter is chosen beforehand between half
// of its difficulty and all of it, so that nobody has the bad luck of a search without end; the key that belongs to the counter
// is signed, so that checking a solution costs two hashes and no scrypt.
//
//	what happens                                   what the caller gets
//	no solution                                    a challenge
//	a solution of another user, sale or network    ErrUnsolved: another challenge, never a refusal
//	forged, altered, expired, another answer       ErrUnsolved: another challenge
//	the same solution twice                        the same as once: a ticket of the same user for the same sale
//	more ask than half of the processors can serve ErrBusy: ask again
//	recent asks were forgotten (a restart)         an easier challenge
package challenge
