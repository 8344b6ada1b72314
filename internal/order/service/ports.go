package service

import (
	"context"
	"time"

	"seckill/internal/order"
	"seckill/internal/voucher"
)

// OrderLedger is the ledger of what happens to orders, from a direct sale on. Each method is one transaction.
type OrderLedger interface {
	// Transition takes the order one step, with a line of history and, when its unit goes back on sale, an operation.
	// owner 0 is any owner. ErrNotFound when the order is not there or somebody else's; *order.StateError when the
	// step is not possible. It returns the order as it is then.
	Transition(ctx context.Context, orderID, owner int64, action order.Action, by order.Actor) (order.Order, error)
	// History returns what happened to the order since it was recorded, oldest first.
	History(ctx context.Context, orderID int64) ([]order.Event, error)
	// Find returns orders that the filter lets through, with an id below before, newest first, at most limit.
	Find(ctx context.Context, f order.Filter, before int64, limit int) ([]order.Order, error)
	// ExpireDue expires up to n unpaid orders whose payment deadline has passed by the ledger's clock, the longest
	// overdue first, with history and, for seckill orders, operations. It returns ErrSuperseded, having changed
	// nothing, when a higher token than the given one has been used. It returns the expired orders, as they are then;
	// fewer than n when no more are due.
	ExpireDue(ctx context.Context, token int64, n int) ([]order.Order, error)
	// RecordDirectSale records an order of an ordinary voucher, unpaid unless it costs nothing, once for each key of
	// the user; "" is no key. When the key was used before, it returns the order that was recorded under it, or
	// ErrKeyReused if that one is of another voucher. It returns voucher.ErrNotFound, voucher.ErrOffShelf, ErrSeckill
	// for a voucher that has a sale, or *order.LimitError when the user has as many live ones as it allows.
	RecordDirectSale(ctx context.Context, orderID, userID, voucherID int64, key string) (order.Order, error)
}

// PaymentLedger is the ledger of payments. Each method is one transaction.
type PaymentLedger interface {
	// OpenPayment stores a new payment under the id for the owner's unpaid order, with the first of the providers, or
	// returns the one that is open for it with one of them already. ErrNotFound when the order is not there or
	// somebody else's; *order.StateError when it is not unpaid.
	OpenPayment(ctx context.Context, owner, orderID int64, id string, providers []string) (order.Payment, error)
	// SetReference stores the provider's own id of a payment that is open; of another one it changes nothing.
	SetReference(ctx context.Context, paymentID, reference string) error
	// PaymentsOf returns the payments of an order, the oldest first.
	PaymentsOf(ctx context.Context, orderID int64) ([]order.Payment, error)
	// Receive records that the provider has the money (order.PaymentState draws what follows). A late one for a
	// seckill order whose sale is not retired gets a Revival to be applied; for an ordinary voucher the order is
	// revived at once. It returns the payment and the order as they are then, the same when it is repeated.
	// ErrNoPayment, also for another provider's payment; ErrWrongAmount.
	Receive(ctx context.Context, n order.Notice) (order.Payment, order.Order, error)
	RefundLedger
	LateLedger
}

// RefundLedger is the part of it that gives money back.
type RefundLedger interface {
	// AskRefund takes the owner's paid order to refunding, and its received payment too. Repeating it is no error.
	AskRefund(ctx context.Context, owner, orderID int64) (order.Order, error)
	// Refunding returns up to n payments whose money is to go back, the oldest first.
	Refunding(ctx context.Context, n int) ([]order.Payment, error)
	// Refunded records that the money has gone back: ConfirmRefund for an order that is refunding by this payment, with
	// its operation. It returns the order as it is then. Repeating it is no error.
	Refunded(ctx context.Context, paymentID string) (order.Order, error)
}

// LateLedger is the part of it that sees to late payments.
type LateLedger interface {
	// ReviveLate gives up to n late payments whose Revival was voided by a rebuild a new one, or makes them refunding
	// when their sale has been retired. It returns the vouchers concerned.
	ReviveLate(ctx context.Context, n int) ([]int64, error)
}

// Holdings reads who holds what in Redis: redisstore.Store.
type Holdings interface {
	// Holdings returns what the user holds in each of the sales, in the order asked.
	Holdings(ctx context.Context, userID int64, sales []order.SaleRef) ([]order.Holding, error)
	// Unrecorded says which sales of the partition may have accepted orders without a row.
	Unrecorded(ctx context.Context, partition int) (order.Unrecorded, error)
}

// NewSales reads sales that another instance may have created a moment ago: the ledger.
type NewSales interface {
	// SalesAbove returns the ids above the given one of vouchers whose sale Redis must hold.
	SalesAbove(ctx context.Context, voucherID int64) ([]int64, error)
}

// Outbox brings Redis up to the ledger, while a caller waits or soon.
type Outbox interface {
	voucher.Outbox
	order.FlushRequester
}

// Observer is told what happens to orders and payments, for metrics. Its methods must not block.
type Observer interface {
	// OrdersExpired: so many overdue orders expired in one transaction.
	OrdersExpired(orders int, took time.Duration)
	// PaymentReceived: the provider said that it has the money for a payment, now or before; the payment is in this
	// state then.
	PaymentReceived(state order.PaymentState)
	// PaymentRefunded: a payment's money went back, or the attempt failed with err.
	PaymentRefunded(err error)
}
