package feature

import (
	"context"
	"log/slog"
	"time"

	"seckill/internal/authtoken"
	"seckill/internal/config"
	"seckill/internal/httpapi/httpkit"
	"seckill/internal/kit/preflight"
	"seckill/internal/order"
	"seckill/internal/redisstore/rediskit"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher"
	"seckill/internal/voucher/guards"
)

// Core has the parts of the core that features use. In commands that open only the database, it has DB, Orders, Ledger,
// Settings, Version, Embedded and Log; all else is nil or empty.
type Core struct {
	DB     *sqlkit.DB
	Orders sqlkit.Orders
	Ledger Ledger
	Redis  Redis
	// Memory returns how many bytes Redis uses, and its limit; 0: no limit.
	Memory func(ctx context.Context) (used, limit int64, err error)
	// Partitions gives features access to their own keys.
	Partitions    rediskit.Partitions
	CreateBeside  BesideCreator
	ChangeVoucher VoucherChanger
	// Units gives access to the units kept for waiting users, IDs makes ids of orders, and Outbox applies operations to
	// Redis.
	Units  sqlkit.KeptUnits
	IDs    order.IDs
	Outbox Outbox
	Sales  Sales
	// UserOrder returns a user's own order, waiting at most wait for it to be no longer queued. Errors:
	// order.ErrNotFound, order.ErrUnavailable.
	UserOrder func(ctx context.Context, userID, orderID int64, wait time.Duration) (order.Order, error)
	// TryLock and TryLockFenced run jobs under the service's locks.
	TryLock       order.TryLocker
	TryLockFenced order.FencedLocker
	Notifier      order.StatusNotifier // sends an order's new state to its watchers
	// Settings are all settings of the service; Settings.Secret is the key of buyers' tokens, and without an admin
	// secret the key of all tokens.
	Settings config.Config
	Secret   string
	Version  string // this program's
	// Embedded reports whether the stores are inside this process, a mode for trying out.
	Embedded bool
	// Front is empty in operators' commands, which serve no routes.
	Front httpkit.Front
	// Members are the members of the core and of the features earlier in the list. Gate is from there too; nil without
	// guards.
	Members Members
	Gate    httpkit.Gatekeeper
	Tokens  authtoken.Rules // the rules of the tokens that this service signs
	Log     *slog.Logger
}

// BesideCreator creates a seckill voucher in the partition of another sale, if it can.
type BesideCreator func(
	ctx context.Context, by voucher.Author, v voucher.Voucher, other *voucher.Sale,
) (voucher.Shown, error)

// VoucherChanger changes a voucher as voucher.Service.Change does.
type VoucherChanger func(
	ctx context.Context, by voucher.Author, id int64, change voucher.Change,
) (v voucher.Shown, applied bool, err error)

// Ledger reads the core's rows for features, adds entries to the audit trail, and removes what rehearsals leave. Every
// function may return order.ErrUnavailable.
type Ledger struct {
	// Voucher returns a voucher with its sale, or voucher.ErrNotFound.
	Voucher func(ctx context.Context, id int64) (voucher.Voucher, error)
	// SalesToKeep returns the sales that Redis must hold, with their vouchers.
	SalesToKeep func(ctx context.Context) ([]voucher.Voucher, error)
	// LiveOrder returns the user's live order for a seckill voucher, or order.ErrNotFound.
	LiveOrder func(ctx context.Context, key order.BuyerKey) (order.Order, error)
	// OrdersAfter returns recorded orders of a voucher with an id above after, ascending, at most limit.
	OrdersAfter func(ctx context.Context, voucherID, after int64, limit int) ([]order.Order, error)
	// PaymentsAfter returns payments that the filter selects, behind last, oldest first, at most limit. The zero
	// payment stands before the first.
	PaymentsAfter func(
		ctx context.Context, f order.PaymentFilter, last order.Payment, limit int,
	) ([]order.Payment, error)
	// Entries returns entries of the audit trail that the filter selects, with an id below before, newest first, at
	// most limit.
	Entries func(ctx context.Context, f voucher.AuditFilter, before int64, limit int) ([]voucher.Entry, error)
	// Note adds an entry to the audit trail.
	Note func(ctx context.Context, e voucher.Entry) error
	// RetiredRehearsals returns the vouchers of rehearsals whose sales are retired.
	RetiredRehearsals func(ctx context.Context) ([]int64, error)
	// EmptyRehearsal removes up to n orders of a retired rehearsal, with all that belongs to them. Once no orders are
	// left, it removes the voucher and is done. For any other voucher it returns an error and removes nothing.
	EmptyRehearsal func(ctx context.Context, voucherID int64, n int) (done bool, err error)
}

// Redis has the queries to Redis that features need.
type Redis struct {
	// TimeIn returns the time of the partition's Redis node. That clock decides when a sale begins (rule 12).
	TimeIn func(ctx context.Context, partition int) (time.Time, error)
	// Instances returns the instances of the service that have sent a heartbeat lately. Error: order.ErrUnavailable.
	Instances func(ctx context.Context) ([]preflight.Instance, error)
	// Views returns the state of each sale, in the order asked.
	Views func(ctx context.Context, sales []order.SaleRef) ([]order.SaleView, error)
	// OrdersOf returns, in one round trip, the order that makes each of the users a holder of the sale, or 0 if there
	// is none or it cannot be read. There may be order.MaxOrderIDs users at most.
	OrdersOf func(ctx context.Context, sale order.SaleRef, users []int64) ([]int64, error)
}

// Sales has the vouchers and sales that this instance remembers, and looks up users' orders.
type Sales struct {
	// Find returns a voucher without its live state, usually from memory. Errors: voucher.ErrNotFound,
	// order.ErrUnavailable.
	Find func(ctx context.Context, id int64) (voucher.Voucher, error)
	// AnyGuards reports whether f is true for the guards of any remembered voucher.
	AnyGuards func(f func(*guards.Settings) bool) bool
	// Now estimates the clock of the Redis node that has the voucher's sale (rule 12). It asks no store.
	Now func(voucherID int64) time.Time
	// OwnOrder asks Redis for the user's order in the voucher's sale. It returns *order.AlreadyBoughtError with the
	// order, order.ErrBarred if they have none, or another error if Redis does not answer.
	OwnOrder func(ctx context.Context, userID, voucherID int64) error
	// Holds reports whether this instance remembers the user as a holder of a sale that was sold out. It asks no store.
	Holds func(voucherID, userID int64) bool
}

// Outbox applies the ledger's operations to Redis, while a caller waits or soon: *outbox.Outbox.
type Outbox interface {
	voucher.Outbox
	order.FlushRequester
}

// Members are functions by which features add to the answers of others. A nil function adds nothing.
type Members struct {
	// Guards returns the figures of a sale's guards, to be written as JSON; nil if there are none. With an error, it
	// returns the figures that can be shown without the counts.
	Guards func(ctx context.Context, v voucher.Voucher) (shown any, err error)
	// Waitlist returns the numbers of a sale's waiting list, to be written as JSON; nil without a list.
	Waitlist func(ctx context.Context, v voucher.Voucher) (shown any, err error)
	// Coupon returns the coupon of an order, to be written as JSON, with its code masked or whole; nil if the order has
	// none. It may write a code that is missing. Error: order.ErrUnavailable.
	Coupon func(ctx context.Context, o order.Order, whole bool) (shown any, err error)
	// Coupons returns the coupons of orders, by order, with their codes masked or whole. It writes nothing.
	Coupons func(ctx context.Context, orderIDs []int64, whole bool) (map[int64]Coupon, error)
	// Accounts returns the accounts of those of the users who sign in by an identity provider. Error:
	// order.ErrUnavailable.
	Accounts func(ctx context.Context, userIDs []int64) (map[int64]voucher.Account, error)
	// OrderOfCode returns the order of a coupon's code as people type it; 0 if there is none. Errors: *invalid.Error,
	// order.ErrUnavailable.
	OrderOfCode func(ctx context.Context, text string) (orderID int64, err error)
}

// with returns the members plus those of another feature.
func (m Members) with(more Members) Members {
	if more.Guards != nil {
		m.Guards = more.Guards
	}
	if more.Waitlist != nil {
		m.Waitlist = more.Waitlist
	}
	if more.Coupon != nil {
		m.Coupon = more.Coupon
	}
	if more.Coupons != nil {
		m.Coupons = more.Coupons
	}
	if more.Accounts != nil {
		m.Accounts = more.Accounts
	}
	if more.OrderOfCode != nil {
		m.OrderOfCode = more.OrderOfCode
	}
	return m
}

// Coupon is the coupon of an order. The zero value means that there is none.
type Coupon struct {
	Code       string    // masked or whole
	ValidUntil time.Time // zero: unlimited
}
