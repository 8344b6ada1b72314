// Package split decides about split sales: those of one voucher that several shares sell, each of which is what a sale is
// otherwise (docs/adr/0037-split-sales.md). It knows no store: callers bring what they have read.
//
//	ShareOf   which share is a user's: their holder, their order and their live row are there and nowhere else
//	AtMost    how many units two looks at all shares show that there were at most at one moment
//	SoldOut   whether two looks at all shares show that there was nothing to sell at one moment
//	PullFor   from which share a share that has too little takes units, and how many
//	GatherFor the same for units that are to be taken off the sale
//
// Units move between shares by numbered operations, so each store and each share alone sees steps that it knows. What none of
// them sees alone is whether the whole sale is sold out: a unit may leave the second share after the first was read, or arrive
// in the first after it was. So all shares are read one after the other, and then all again: a Look each. Whatever puts a unit
// on sale in a share changes one of the numbers in which the two are compared:
//
//	an operation (a return, a restock, a unit moved hither)  Operation
//	a correction by the recorder                             Corrected
//	a rebuild                                                Epoch, or it goes on and the share is not Known
//	a returned unit whose time has come                      Waiting
//
// Where none has changed, a share that had nothing at both looks had nothing in between; so there is a moment, between the last
// read of the first look and the first of the second, at which no share had a unit. That none was on its way at that moment
// follows from what shares count as they apply moves: all units that left one had arrived in another.
//
// Nothing here is remembered. Who says SOLD_OUT from memory for a second (rule 11, docs/architecture.md) counts from the
// beginning of the first look.
package split
