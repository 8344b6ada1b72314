package service

import (
	"context"
	"time"

	"seckill/internal/kit/idempotency"
	"seckill/internal/order"
	"seckill/internal/order/payment"
	"seckill/internal/voucher"
)

// OrderLedger is the ledger of orders after they are recorded, and of direct sales. Each method is one transaction.
type OrderLedger interface {
	// Transition takes an action on the order. It writes a line of history and, when the order's unit goes back on
	// sale, an operation, and returns the changed order. owner 0 stands for any owner. It returns ErrNotFound when the
	// order does not exist or is another user's, and *order.StateError when the action is not possible.
	Transition(ctx context.Context, orderID, owner int64, action order.Action, by order.Actor) (order.Order, error)
	// CancelForStaff cancels anybody's order, once for each key of the act's author, with an entry in the audit trail;
	// a cancelled one stays as it is. Errors: ErrNotFound, *order.StateError, *order.NotNowError; for the key,
	// *idempotency.RepeatedError, idempotency.ErrReused.
	CancelForStaff(ctx context.Context, act order.StaffAct) (order.Order, error)
	// History returns the order's events since it was recorded, oldest first.
	History(ctx context.Context, orderID int64) ([]order.Event, error)
	// Find returns orders that pass the filter, with an id below before, newest first, at most limit.
	Find(ctx context.Context, f order.Filter, before int64, limit int) ([]order.Order, error)
	// ExpireDue expires up to n unpaid orders whose payment deadline has passed by the ledger's clock, the longest
	// overdue first, with history and, for seckill orders, operations. It returns the expired orders: fewer than n when
	// no more are due. It returns ErrSuperseded, and changes nothing, if a higher token than the given one has been
	// used.
	ExpireDue(ctx context.Context, token int64, n int) ([]order.Order, error)
	// RecordDirectSale records an order of an ordinary voucher, unpaid unless it costs nothing, once for each key. If
	// the request was done before, it returns the order that it made then. Errors: idempotency.ErrGone if that order is
	// gone; idempotency.ErrReused if another request had the key; voucher.ErrNotFound; voucher.ErrOffShelf; ErrSeckill
	// for a voucher that has a sale; *order.LimitError if the user has as many live orders of the voucher as it allows.
	RecordDirectSale(ctx context.Context, orderID, userID, voucherID int64,
		key idempotency.Key) (order.Order, error)
}

// PaymentLedger is the ledger of payments. Each method is one transaction.
type PaymentLedger interface {
	// OpenPayment stores a new payment under the id for the owner's unpaid order, with the first of the providers, and
	// returns what its provider is to be told. If the order already has an open payment that has not ended at one of
	// the providers, it returns that one. Errors: ErrNotFound if the order does not exist or is another user's;
	// *order.StateError if it is not unpaid; ErrNoProvider if there is none and the order costs something.
	OpenPayment(ctx context.Context, owner, orderID int64, id string, providers []string) (payment.Beginning, error)
	// Begun stores the provider's own id of a payment, if the payment is open. If its order is no longer unpaid, the
	// payment is to be cancelled at the provider.
	Begun(ctx context.Context, paymentID, reference string) error
	// PaymentsOf returns the payments of an order, the oldest first.
	PaymentsOf(ctx context.Context, orderID int64) ([]payment.Payment, error)
	CancelLedger
	NoticeLedger
	RefundLedger
}

// CancelLedger is the part of PaymentLedger for payments that are to be cancelled at their providers.
type CancelLedger interface {
	// ToCancel returns up to n payments that their provider is to be told to expect no more, the oldest first. Those
	// that have waited for a day are given up. Cancelled takes one off the list.
	ToCancel(ctx context.Context, n int) ([]payment.Payment, error)
	Cancelled(ctx context.Context, paymentID string) error
}

// NoticeLedger is the part of PaymentLedger that takes providers' notices. Each method returns the payment and its
// order as they are then; a repeated notice changes nothing. Errors: ErrNoPayment, even for another provider's payment;
// ErrWrongAmount.
type NoticeLedger interface {
	// Receive records that the provider has the money (payment.State draws what follows). A late payment for a seckill
	// order whose sale is not retired gets a Revival for Redis to decide; a late one for an ordinary voucher revives
	// the order at once.
	Receive(ctx context.Context, n payment.Notice) (payment.Payment, order.Order, error)
	// TakeNotice records a total of returned money, or a dispute (payment.Flow). When all of a received payment's money
	// has gone back, the payment and its paid order become refunding.
	TakeNotice(ctx context.Context, n payment.Notice) (payment.Payment, order.Order, error)
	// TakeProgress records what the provider says of an open payment: its money is under way, which moves the deadline
	// of its unpaid order once; or it has ended without money. Of a payment that is no longer open, and older than what
	// is known, it changes nothing.
	TakeProgress(ctx context.Context, n payment.Notice) (payment.Payment, order.Order, error)
	// TakeRefund records what the provider says of one refund. Error: also ErrUpgrading, for one that is not done,
	// while versions without refunds may live.
	TakeRefund(ctx context.Context, n payment.Notice) (payment.Payment, order.Order, error)
}

// RefundLedger is the part of PaymentLedger that gives money back.
type RefundLedger interface {
	// AskRefund takes the owner's paid order, and its received payment, to refunding. Repeating it is no error.
	AskRefund(ctx context.Context, owner, orderID int64) (order.Order, error)
	// RefundForStaff is AskRefund for anybody's order, once for each key of the act's author, with an entry in the
	// audit trail. Errors: ErrNotFound, *order.StateError, *order.NotNowError; for the key, *idempotency.RepeatedError,
	// idempotency.ErrReused.
	RefundForStaff(ctx context.Context, act order.StaffAct) (order.Order, error)
	// Payment returns a payment. Error: ErrNoPayment.
	Payment(ctx context.Context, id string) (payment.Payment, error)
	SendLedger
	PartLedger
	StuckLedger
}

// SendLedger is the part of RefundLedger for the job that asks providers.
type SendLedger interface {
	// Refunding returns up to n payments whose money must go back, oldest first. It leaves out stuck payments, about
	// which staff decide, disputed ones, and those whose refund the provider has taken.
	Refunding(ctx context.Context, n int) ([]payment.Payment, error)
	// SendRefund returns the payment and one of its refunds, "" for that of all that is left, as they are to be sent to
	// the provider now, and whether they are. One that has nothing left to send is due, without an amount. Error:
	// ErrNoPayment.
	SendRefund(ctx context.Context, paymentID, refundID string) (payment.Payment, payment.Refund, bool, error)
	// Refunded records that all of the payment's money has gone back, by the refund, which the provider calls by the
	// reference, even if the payment is now stuck or closed. If its order is being refunded by this payment, the order
	// takes the action ConfirmRefund, with its operation. It returns the order after that. Repeating it is not an
	// error.
	Refunded(ctx context.Context, paymentID, refundID, reference string) (order.Order, error)
	// NothingLeft ends the refund of a payment when SendRefund has found nothing left to send. If a refund has failed
	// since, something is left, and the payment goes on refunding.
	NothingLeft(ctx context.Context, paymentID string) (order.Order, error)
	// RefundAnswered records a provider's answer about a refund: it is pending, done, or refused.
	RefundAnswered(
		ctx context.Context, paymentID, refundID string, o payment.Outcome,
	) (payment.Payment, order.Order, error)
	// RefundsIn returns up to n refunds in a state, of one origin or, with 0, of any, the oldest first.
	RefundsIn(ctx context.Context, state payment.RefundState, of payment.Origin, n int) ([]payment.Refund, error)
}

// PartLedger is the part of RefundLedger for refunds of a part.
type PartLedger interface {
	// RefundPart asks for a part of a received payment's money, or for all that is left of it, with its order, once for
	// each key of the act's author, with an entry in the audit trail. Errors: ErrNoPayment, *payment.NotReceivedError,
	// *payment.LeftError, *order.StateError, *order.NotNowError, ErrUpgrading while versions without refunds may live;
	// for the key, *idempotency.RepeatedError, idempotency.ErrReused.
	RefundPart(ctx context.Context, act order.PaymentAct, cents int64) (payment.Payment, order.Order, error)
}

// StuckLedger is the part of RefundLedger for payments that do not move on by themselves: the provider has finally
// refused to send the money back, or the payment came late and a rebuild voided the Revival that was to decide about
// it.
type StuckLedger interface {
	// Refused makes a refunding payment stuck, with the provider's reason against the refund of all that was left, and
	// returns it. A payment in any other state stays as it is, and so does one that is disputed, whose money has all
	// gone back, or that is asked back by another refund by now. Error: ErrNoPayment.
	Refused(ctx context.Context, paymentID, refundID, reason string) (payment.Payment, error)
	// RetryRefund takes a stuck payment back to refunding, once for each key of the act's author, with an entry in the
	// audit trail; a refunding payment stays as it is. Of a received payment it asks for the parts that have failed
	// once more. It returns the payment and its order. Errors: ErrNoPayment, *payment.StateError, *order.NotNowError
	// while the payment is disputed; for the key, *idempotency.RepeatedError, idempotency.ErrReused.
	RetryRefund(ctx context.Context, act order.PaymentAct) (payment.Payment, order.Order, error)
	// CloseRefund closes a stuck payment in the same way, or the parts of a received one that have failed. If its order
	// is being refunded by this payment, the order takes the action ConfirmRefund, with its operation.
	CloseRefund(ctx context.Context, act order.PaymentAct) (payment.Payment, order.Order, error)
	// NeedStaff counts the payments that need staff.
	NeedStaff(ctx context.Context) (payment.NeedStaff, error)
	// ReviveLate adds a new Revival for each of up to n late payments whose Revival was voided by a rebuild. If the
	// sale is retired, it makes the payment refunding instead. It returns the payments' vouchers.
	ReviveLate(ctx context.Context, n int) ([]int64, error)
}

// Holdings reads the holders in Redis: redisstore.Store.
type Holdings interface {
	// Holdings returns the user's holding in each of the sales, in the given order.
	Holdings(ctx context.Context, userID int64, sales []order.SaleRef) ([]order.Holding, error)
	// Unrecorded says which sales of the partition may have accepted orders without a row.
	Unrecorded(ctx context.Context, partition int) (order.Unrecorded, error)
	// UserOf returns the user of an order that waits in the partition, as an entry or as a dead letter; 0 if none does.
	UserOf(ctx context.Context, partition int, orderID int64) (userID int64, err error)
}

// Outbox brings Redis up to the ledger: Flush while the caller waits, RequestFlush soon.
type Outbox interface {
	voucher.Outbox
	order.FlushRequester
}

// Observer counts what happens to orders and payments, for metrics. Its methods must not block.
type Observer interface {
	// OrdersExpired counts overdue orders that expired in one transaction.
	OrdersExpired(orders int, took time.Duration)
	// PaymentReceived counts a notice, first or repeated, that the provider has the money. state is the payment's
	// state after it.
	PaymentReceived(state payment.State)
	// PaymentRefunded counts a payment whose money went back or, with err, a failed attempt; *payment.RefusedError is
	// the provider's final no.
	PaymentRefunded(err error)
	// PaymentsNeedStaff sets how many payments need staff; err says that they could not be counted.
	PaymentsNeedStaff(n payment.NeedStaff, err error)
}
