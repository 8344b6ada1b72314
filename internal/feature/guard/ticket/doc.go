// Package ticket makes and checks the tickets of a sale: a buyer fetches one before the start and sends it with their
// purchase. No store is asked for either, and nothing is remembered.
//
// A ticket is bound to its user and its sale, and becomes usable at the user's own moment: the start of the sale plus
// a delay that a keyed hash of the user gives, spread evenly over the sale's longest delay D. A program that asks a
// thousand times a second from the start on has no sooner moment than a buyer who asks once. A ticket does not name
// the moment: it is computed whenever a ticket is checked, so that a sale whose start or D is changed needs no new
// ones.
//
// A ticket sent twice buys nothing twice: a user has one live order for a sale (rule 2). Whether the sale has started
// and ended is decided by the script (rule 12); a ticket only ever delays.
//
//	what happens                                   what the caller gets
//	no ticket                                      ErrRequired
//	another user's, another sale's, forged, cut    ErrInvalid
//	expired                                        ErrInvalid: the page fetches another
//	before the user's moment                       *EarlyError, with the moment
//	made with a key that this instance has not     ErrTryAgain for a second at most (package keys)
//	this instance's clock is wrong                 nothing: Redis's time is what the caller passes
package ticket
