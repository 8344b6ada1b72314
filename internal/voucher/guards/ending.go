package guards

import "context"

// Outcome is how a purchase with reserved units ended.
type Outcome int8

// The outcomes.
const (
	Refused Outcome = iota // nobody got the units
	Won                    // the order was accepted, whatever becomes of it
	Unknown                // it is not known yet
	Claimed                // the unit counts as the user's, but there is no order yet
)

// Ending is the end of a purchase with reserved units.
type Ending struct {
	Outcome Outcome
	// ID is the purchase's own order, also one that may have been accepted; for Claimed, anything that is unique to the
	// user in the sale. An id counts once.
	ID int64
	// Look looks up an Unknown outcome. If it is nil, the user's order in Redis tells: the purchase won if that order
	// has its ID, or has not counted and the purchase has no ID.
	Look func(ctx context.Context) Ending
}
