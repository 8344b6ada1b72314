package feature

import (
	"context"
	"log/slog"
	"time"

	"seckill/internal/authtoken"
	"seckill/internal/config"
	"seckill/internal/httpapi/httpkit"
	"seckill/internal/order"
	"seckill/internal/order/audit"
	"seckill/internal/order/partition"
	"seckill/internal/order/payment"
	"seckill/internal/redisstore/rediskit"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher"
	"seckill/internal/voucher/guards"
)

// Core has the parts of the core that features use. In commands that open only the database, it has DB, Orders, Ledger,
// Settings, Version, Log, SwitchOn and Front.Members; all else is nil or empty.
type Core struct {
	DB     *sqlkit.DB
	Orders sqlkit.Orders
	Ledger Ledger
	Redis  Redis
	// Partitions gives features access to their own keys.
	Partitions rediskit.Partitions
	Vouchers   *voucher.Service // creates and changes vouchers
	Sales      Sales
	// Units gives access to the units kept for waiting users, IDs makes ids of orders, and Outbox applies operations to
	// Redis.
	Units  sqlkit.KeptUnits
	IDs    order.IDs
	Outbox Outbox
	// TryLock runs jobs under the service's locks.
	TryLock  order.FencedLocker
	Notifier order.StatusNotifier // sends an order's new state to its watchers
	Settings config.Config        // all settings of the service
	Version  string               // this program's
	Front    httpkit.Front        // in operators' commands, which serve no routes, it has only members
	Tokens   authtoken.Rules      // the rules of the tokens that this service signs, with their secrets
	Log      *slog.Logger
	// SwitchOn makes sure that no version lives that does not read a format, and that none of them starts any more. It
	// takes thirteen seconds. Errors: order.ErrUpgrading, order.ErrUnavailable.
	SwitchOn func(ctx context.Context, format string) error
	// Alone makes sure that no version 1.0 lives, and that none starts any more. It takes thirteen seconds the first
	// time, and goes on when its caller has given up. Errors: order.ErrUpgrading, order.ErrUnavailable.
	Alone func(ctx context.Context) error
}

// RetentionFormat is the format of a ledger from which rows were purged, or people forgotten, as heartbeats name it.
const RetentionFormat = "retention"

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
		ctx context.Context, f payment.Filter, last payment.Payment, limit int,
	) ([]payment.Payment, error)
	// RefundsWaiting counts the refunds that providers are to be asked for, or about, by the provider's name.
	RefundsWaiting func(ctx context.Context) (map[string]int64, error)
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
	// Backlog returns how many stream entries of all partitions wait for their rows, and how many are dead letters.
	Backlog func(ctx context.Context) (waiting, dead int64, err error)
	// Oldest returns how long the oldest stream entry of all partitions has waited for its row; 0: none waits.
	Oldest func(ctx context.Context) (time.Duration, error)
	// OtherData returns why this installation leaves a partition alone, which has other data; nil if it does not.
	OtherData func(partition int) error
	// Memory returns how many bytes Redis uses, and its limit; 0: no limit.
	Memory func(ctx context.Context) (used, limit int64, err error)
	// TimeIn returns the time of the partition's Redis node. That clock decides when a sale begins (rule 12).
	TimeIn func(ctx context.Context, partition int) (time.Time, error)
	// Instances returns the instances of the service that have sent a heartbeat lately. Error: order.ErrUnavailable.
	Instances func(ctx context.Context) ([]partition.Instance, error)
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
	// Clock is Now with its bound: Redis's clock shows at least now, and at most within more. ok is false if this
	// instance has had no answer of Redis about the sale.
	Clock func(voucherID int64) (now time.Time, within time.Duration, ok bool)
	// Watch has a function called with Redis's answers about each sale while it is sold out, and with the first answer
	// after that. It must not block. Call it in Open.
	Watch func(func(voucherID int64, view *order.SaleView, soldOut bool))
	// OwnOrder asks Redis for the user's order in the voucher's sale. It returns *gate.AlreadyBoughtError with the
	// order, gate.ErrBarred if they have none, or another error if Redis does not answer.
	OwnOrder func(ctx context.Context, userID, voucherID int64) error
	// Balance compares all units of a sale, as the auditor does.
	Balance func(ctx context.Context, voucherID int64) (audit.Balance, error)
	// Order returns a user's own order, waiting at most wait for it to be no longer queued. Errors: order.ErrNotFound,
	// order.ErrUnavailable.
	Order func(ctx context.Context, userID, orderID int64, wait time.Duration) (order.Order, error)
	// Holds reports whether this instance remembers the user as a holder of a sale that was sold out. It asks no store.
	Holds func(voucherID, userID int64) bool
}

// Members are what features add to the answers of others.
type Members = httpkit.Members

// Outbox applies the ledger's operations to Redis, while a caller waits or soon: *outbox.Outbox.
type Outbox interface {
	voucher.Outbox
	order.FlushRequester
}
