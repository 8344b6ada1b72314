package order

import (
	"context"
	"errors"
	"time"

	"seckill/internal/voucher"
)

// The interfaces that several parts of this package's tree share. Interfaces of one part stand beside their caller.

const (
	// RedisTimeout is how long one call to Redis may take, blocking included.
	RedisTimeout = 5 * time.Second
	// AdmissionTimeout is how long one try of the admission script may take. A call that several tries share has the
	// same time from its own start, so no try is cut short.
	AdmissionTimeout = time.Second
	// MaxOrderIDs is how many ids one query of a Reader may name.
	MaxOrderIDs = 1000
)

// RepairRequester takes requests to check and rebuild sales that were found wrong: recovery.RepairQueue.
type RepairRequester interface {
	// RequestRepair asks for the sale to be checked, and does not wait for it. The sale is rebuilt if Redis does not
	// hold it at the ledger's epoch, or if that epoch is not above badEpoch.
	RequestRepair(voucherID, badEpoch int64)
}

// StatusNotifier learns the new status of orders: service.Notifier.
type StatusNotifier interface {
	// Notify passes on the status of orders, by order id. It must not block.
	Notify(outcomes map[int64]Status)
}

// IDs gives out order ids.
type IDs interface {
	// Next returns an id that was never given out before.
	Next(ctx context.Context) (int64, error)
}

// Reader reads recorded orders: the ledger.
type Reader interface {
	// OrdersByID returns the orders that have a row.
	OrdersByID(ctx context.Context, ids []int64) (map[int64]Order, error)
	// OrdersOf returns the orders of f.UserID that the filter lets through, with an id below before, newest first, at
	// most limit, and how many of them there are in all.
	OrdersOf(ctx context.Context, f Filter, before int64, limit int) ([]Order, int64, error)
	// LiveOrder returns the user's live order for a seckill voucher, or ErrNotFound.
	LiveOrder(ctx context.Context, key BuyerKey) (Order, error)
	// Recorded returns the status of each id that has a row.
	Recorded(ctx context.Context, ids []int64) (map[int64]Status, error)
}

// HolderReader returns, in one round trip, the order that makes each of the users a holder of the sale in Redis, or 0
// if there is none or it cannot be read. There may be MaxOrderIDs users at most.
type HolderReader func(ctx context.Context, sale SaleRef, users []int64) ([]int64, error)

// ErrBusy says that another instance holds the lock.
var ErrBusy = errors.New("another instance holds the lock")

// TryLocker runs f under the lock with the name; it returns ErrBusy at once when another instance holds the lock. f's
// context ends when the lock is lost. The lock only saves work: f fences what it writes by itself.
type TryLocker func(ctx context.Context, name string, f func(context.Context) error) error

// FencedLocker runs f under the lock with the name, with a fencing token higher than all earlier ones. It returns
// ErrBusy at once when another instance holds the lock. f's context ends when the lock is lost.
type FencedLocker func(ctx context.Context, name string, f func(ctx context.Context, token int64) error) error

// The core's jobs that one instance at a time does. A job's name is that of its lock, and of its fence in the ledger.
const (
	ExpirerJob  = "expirer"
	KeysJob     = "keys"
	UnwinderJob = "unwinder"
)

// FlushRequester takes requests to apply a sale's pending operations to Redis: outbox.Outbox.
type FlushRequester interface {
	// RequestFlush asks for the sale's pending operations to be applied soon. It does not wait.
	RequestFlush(voucherID int64)
}

// NoBadEpoch is passed to RequestRepair when no epoch of the sale is known to be wrong.
const NoBadEpoch int64 = -1

// KeptSales lists the sales that Redis must hold: the ledger.
type KeptSales interface {
	// SalesToKeep returns every seckill voucher whose sale Redis must hold: all that are not retired.
	SalesToKeep(ctx context.Context) ([]voucher.Voucher, error)
}
