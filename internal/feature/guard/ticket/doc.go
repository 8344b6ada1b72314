// Package ticket makes and checks the tickets of a sale: a buyer fetches a ticket before the start and sends it with
// their purchase. The package asks no store, and remembers nothing.
//
// A ticket is bound to its user and its sale, and becomes usable at the user's own moment: the start of the sale plus
// a delay that a keyed hash of the user gives, spread evenly over the sale's longest delay D. A program that asks a
// thousand times a second from the start on has no sooner moment than a buyer who asks once. A ticket does not name
// the moment, which is computed at each check: a sale whose start or D is changed needs no new tickets.
//
// A ticket sent twice buys nothing twice: a user has one live order for a sale (rule 2). The script decides whether the
// sale has started and ended (rule 12); a ticket can only delay a purchase.
//
//	what happens                                   what the caller gets
//	no ticket                                      ErrRequired
//	another user's, another sale's, forged, cut    ErrInvalid
//	expired                                        ErrInvalid: the page fetches another
//	before the user's moment                       *EarlyError, with the moment
//	signed with a key unknown to this instance     ErrTryAgain for a second at most (package keys)
//	this instance's clock is wrong                 no difference: the caller of Check passes Redis's time
package ticket
