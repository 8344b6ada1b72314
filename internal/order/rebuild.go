package order

import (
	"context"
	"iter"

	"seckill/internal/voucher"
)

// SaleLedger is the ledger as a rebuild sees it.
type SaleLedger interface {
	// SalesToKeep returns every seckill voucher whose sale Redis is to hold: all that are not retired.
	SalesToKeep(ctx context.Context) ([]voucher.Voucher, error)
	// RaiseEpoch begins a rebuild: it raises the sale's epoch by one, sets its sequence to 0, and returns the new
	// epoch. The epoch is the rebuild's fencing token.
	RaiseEpoch(ctx context.Context, voucherID int64) (int64, error)
	// Snapshot reads the sale and all its orders under its row's lock, marking pending operations as absorbed. It
	// returns ErrSuperseded when the sale's epoch is not the given one.
	Snapshot(ctx context.Context, voucherID, epoch int64) (Snapshot, error)
	// Retire marks the sale as no longer held by Redis.
	Retire(ctx context.Context, voucherID int64) error
}

// SaleReader reads sales in Redis.
type SaleReader interface {
	// Views returns the state of each sale in one round trip, in the order asked.
	Views(ctx context.Context, sales []SaleRef) ([]SaleView, error)
	// Waiting yields the claims of a sale that are in the stream, delivered or not.
	Waiting(ctx context.Context, sale SaleRef) iter.Seq2[Claim, error]
	// Holders yields who holds a place in a sale, as claims without epoch and sequence. One may come twice.
	Holders(ctx context.Context, sale SaleRef) iter.Seq2[Claim, error]
}

// SaleBuilder writes a sale into Redis step by step. Every step carries the rebuild's epoch and returns ErrSuperseded
// once a newer rebuild has begun or the sale is open at this epoch or a later one.
type SaleBuilder interface {
	// Begin stops the sale (SaleRebuilding). Holders of a place are still told their order.
	Begin(ctx context.Context, sale SaleRef, epoch int64) error
	// Seat gives each claim's user the place, and empties those of the users in vacate.
	Seat(ctx context.Context, sale SaleRef, epoch int64, claims []Claim, vacate []int64) error
	// Requeue appends claims to the stream whose entries were lost.
	Requeue(ctx context.Context, sale SaleRef, epoch int64, claims []Claim) error
	// Publish opens the sale at the epoch with sequence 0.
	Publish(ctx context.Context, sale SaleRef, epoch int64, o Opening) error
}

// SaleRetirer removes a sale that is over from Redis.
type SaleRetirer interface {
	// Drop deletes the sale and its places if no entry of it can be waiting any more, and reports whether it did.
	Drop(ctx context.Context, sale SaleRef, view SaleView) (bool, error)
}
