package feature

import (
	"context"
	"log/slog"
	"time"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/kit/config"
	"seckill/internal/order"
	"seckill/internal/order/waitlist"
	"seckill/internal/redisstore/rediskit"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher"
	"seckill/internal/voucher/guards"
)

// Core is what the core gives to features.
type Core struct {
	DB     *sqlkit.DB
	Orders sqlkit.Orders
	Ledger Ledger
	Redis  Redis
	// Partitions is where features have keys of their own.
	Partitions rediskit.Partitions
	Vouchers   Vouchers
	// These are nil in commands that open the database alone.
	Sales     Sales
	Purchases Purchases
	Locks     Locks
	Notifier  order.StatusNotifier // who watches an order hears of its new state
	// Settings are all of the service's, and Secret the key of its tokens.
	Settings config.Config
	Secret   string
	Version  string // of this program
	// Embedded: this process has its stores inside, and serves people who try it out.
	Embedded bool
	// Front is empty in operators' commands, which have no routes.
	Front httpkit.Front
	// Members are those of the core, and of the features before in the list.
	Members Members
	Log     *slog.Logger
}

// Ledger is what features read of the core's rows, and have it write: *sqlstore.Store. Every method may return
// order.ErrUnavailable.
type Ledger interface {
	// Voucher returns a voucher with its sale, or voucher.ErrNotFound.
	Voucher(ctx context.Context, id int64) (voucher.Voucher, error)
	// SalesToKeep returns the sales that Redis must hold, with their vouchers.
	SalesToKeep(ctx context.Context) ([]voucher.Voucher, error)
	// OrdersAfter returns recorded orders of a voucher with an id above after, ascending, at most limit.
	OrdersAfter(ctx context.Context, voucherID, after int64, limit int) ([]order.Order, error)
	// PlaceSums returns what has become of the places of a sale's waiting list.
	PlaceSums(ctx context.Context, voucherID int64) (waitlist.Sums, error)
	// Note adds an entry to the audit trail.
	Note(ctx context.Context, e voucher.Entry) error
	Rehearsals
}

// Rehearsals are the sales that were only rehearsed, as the core has them.
type Rehearsals interface {
	// RetiredRehearsals returns the vouchers of rehearsals whose sale is retired.
	RetiredRehearsals(ctx context.Context) ([]int64, error)
	// EmptyRehearsal removes up to n orders of a retired rehearsal, with all that belongs to them. Once no orders are
	// left, it removes the voucher and is done. For any other voucher it returns an error and removes nothing.
	EmptyRehearsal(ctx context.Context, voucherID int64, n int) (done bool, err error)
}

// Redis is what features ask the core's Redis: *redisstore.Store.
type Redis interface {
	// TimeIn returns the time of the Redis node that has the partition. It decides when a sale begins (rule 12).
	TimeIn(ctx context.Context, partition int) (time.Time, error)
	// Memory returns how many bytes Redis uses, and its limit; 0: it has none.
	Memory(ctx context.Context) (used, limit int64, err error)
}

// Sales is what this instance remembers of vouchers and their sales, and what it knows of a user's order.
type Sales interface {
	// Find returns a voucher, from memory as a rule, without its live state. voucher.ErrNotFound, order.ErrUnavailable.
	Find(ctx context.Context, id int64) (voucher.Voucher, error)
	// AnyGuards reports whether a voucher that is remembered has guards of which f is true.
	AnyGuards(f func(*guards.Settings) bool) bool
	// Now estimates the clock of the Redis node that has the voucher's sale (rule 12). It asks no store.
	Now(voucherID int64) time.Time
	// OwnOrder asks Redis for the user's order in the voucher's sale: *order.AlreadyBoughtError, order.ErrBarred if
	// they have none, or another error when that is not known.
	OwnOrder(ctx context.Context, userID, voucherID int64) error
}

// Purchases are the orders of users: *service.Purchases.
type Purchases interface {
	// Order returns a user's own order, waiting at most wait for it to be no longer queued. order.ErrNotFound,
	// order.ErrUnavailable.
	Order(ctx context.Context, userID, orderID int64, wait time.Duration) (order.Order, error)
}

// Vouchers creates and changes vouchers: *voucher.Service.
type Vouchers interface {
	// CreateBeside creates a seckill voucher in the partition of another sale, if it can.
	CreateBeside(ctx context.Context, by voucher.Author, v voucher.Voucher, other *voucher.Sale) (voucher.Shown, error)
	// Change changes a voucher.
	Change(ctx context.Context, by voucher.Author, id int64,
		change voucher.Change) (v voucher.Shown, applied bool, err error)
}

// Locks are the service's locks by name.
type Locks interface {
	order.Locker
	order.FencedLocker
}

// Members are what an answer shows of the features that have it. A function that is nil shows nothing.
type Members struct {
	// Guards returns what a sale's guards did: as JSON, nil for nothing, and as lines of a CSV, names with figures.
	// With an error both are what can be shown without the figures.
	Guards func(ctx context.Context, v voucher.Voucher) (shown any, lines [][2]string, err error)
	// Coupon returns the coupon of an order as JSON, with its code masked or whole; nil if it has none. It may write a
	// code that is missing. order.ErrUnavailable.
	Coupon func(ctx context.Context, o order.Order, whole bool) (shown any, err error)
	// Coupons returns the coupons of orders, by order, with their codes masked or whole. It writes nothing.
	Coupons func(ctx context.Context, orderIDs []int64, whole bool) (map[int64]Coupon, error)
}

// with returns the members with those of a feature.
func (m Members) with(more Members) Members {
	if more.Guards != nil {
		m.Guards = more.Guards
	}
	if more.Coupon != nil {
		m.Coupon = more.Coupon
	}
	if more.Coupons != nil {
		m.Coupons = more.Coupons
	}
	return m
}

// Coupon is the coupon of an order. The zero coupon is none.
type Coupon struct {
	Code       string    // masked or whole
	ValidUntil time.Time // zero for ever
}
