package service

import (
	"context"
	"errors"
	"fmt"
	"time"

	"seckill/internal/kit/batch"
	"seckill/internal/kit/trace"
	"seckill/internal/order"
	"seckill/internal/order/admission"
	"seckill/internal/order/gate"
	"seckill/internal/voucher"
)

// PurchaseOptions tune Purchases.
type PurchaseOptions struct {
	// WaitForRow makes every answer that names an order wait until the order is recorded. It is for a Redis whose data
	// ends with the process (the embedded mode). An order that is not recorded in time is ErrUnknownOutcome.
	WaitForRow bool
}

const recordTimeout = 10 * time.Second // how long an answer waits for its row if WaitForRow is set

// Purchases sells seckill vouchers and reads their buyers' orders.
type Purchases struct {
	admission *admission.Admission
	lookup    *Lookup
	recorded  *batch.Batcher[ownQuestion, ownRows]
	ids       order.IDs
	notifier  *Notifier
	options   PurchaseOptions
}

// NewPurchases returns purchases through an admission.
func NewPurchases(
	admission *admission.Admission, lookup *Lookup, rows order.Reader, ids order.IDs, notifier *Notifier,
	options PurchaseOptions,
) *Purchases {
	return &Purchases{
		admission: admission, lookup: lookup, recorded: newOwnReads(rows), ids: ids,
		notifier: notifier, options: options,
	}
}

// Buy asks for q units of the voucher, as the catalog has it, in one order for the user, and waits for up to wait until
// the order is recorded. It returns the order, queued or with the status that it got in that time;
// *gate.AlreadyBoughtError when the user already has an order; *gate.NotEnoughError when fewer units are left;
// *invalid.Error for more units than the sale allows; or a sentinel error of order or of voucher. After
// ErrUnknownOutcome, repeating the call answers for certain; the order then has the id that a late acceptance has. If
// ctx ends while Redis is deciding, Buy still waits for the decision, two seconds at most.
func (p *Purchases) Buy(
	ctx context.Context, userID int64, v voucher.Voucher, quantity order.Quantity, wait time.Duration,
) (order.Order, error) {
	id, err := p.ids.Next(ctx)
	if err != nil {
		return order.Order{}, fmt.Errorf("%w: no order id: %w", order.ErrUnavailable, err)
	}
	o := order.Order{ID: id, UserID: userID, VoucherID: v.ID, Quantity: quantity, Status: order.Queued}
	request := gate.Request{UserID: userID, OrderID: id, Quantity: quantity, Trace: trace.From(ctx)}
	var sub *Subscription
	if wait > 0 || p.options.WaitForRow {
		sub = p.notifier.Subscribe(id)
		defer sub.Cancel()
	}
	if err := p.admission.Admit(ctx, v, request); err != nil {
		return o, p.explain(ctx, userID, err)
	}
	if sub == nil {
		return o, nil
	}
	return p.await(ctx, sub, o, wait, v.PayValue == 0)
}

// await waits for the order's row, for up to wait, or longer if WaitForRow is set. The row of a free order is already
// paid.
func (p *Purchases) await(
	ctx context.Context, sub *Subscription, o order.Order, wait time.Duration, free bool,
) (order.Order, error) {
	if p.options.WaitForRow {
		wait = max(wait, recordTimeout)
	}
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	status, err := sub.Wait(waiting, order.Queued)
	switch {
	case err == nil && status == order.Unpaid && !free:
		o.Status = order.Unpaid
		return o, nil
	case err == nil:
		// The order failed at once or costs nothing: read its status from the row, if the ledger answers.
		if row, err := p.lookup.Order(ctx, o.UserID, o.ID); err == nil {
			return row, nil
		}
		if status != order.Unpaid { // a free order is probably paid: it stays queued until its row can be read
			o.Status = status
		}
		return o, nil
	case p.options.WaitForRow:
		return o, fmt.Errorf("%w: order %d was not recorded in time", order.ErrUnknownOutcome, o.ID)
	default:
		return o, nil
	}
}

// OwnOrder looks up the user's order in the voucher's sale without letting them in. It always returns an error:
// *gate.AlreadyBoughtError with the order, gate.ErrBarred if they have none, or another error if it is not known.
func (p *Purchases) OwnOrder(ctx context.Context, userID, voucherID int64) error {
	return p.explain(ctx, userID, p.admission.Order(ctx, voucherID, userID))
}

// Holds reports whether this instance remembers the user as a holder of a sale that was sold out. It asks no store.
func (p *Purchases) Holds(voucherID, userID int64) bool { return p.admission.Holds(voucherID, userID) }

// Now estimates Redis's clock from its last answer about the voucher's sale (rule 12). Without such an answer it
// returns this machine's time.
func (p *Purchases) Now(voucherID int64) time.Time { return p.admission.Now(voucherID) }

// Clock is Now with its bound: Redis's clock shows at least now, and at most within more. Without an answer of Redis
// about the sale, ok is false.
func (p *Purchases) Clock(voucherID int64) (now time.Time, within time.Duration, ok bool) {
	return p.admission.Clock(voucherID)
}

// explain adds the status of the user's existing order to an AlreadyBoughtError.
func (p *Purchases) explain(ctx context.Context, userID int64, err error) error {
	var bought *gate.AlreadyBoughtError
	if !errors.As(err, &bought) || bought.Status != order.StatusUnknown {
		return err
	}
	if p.options.WaitForRow {
		o, err := p.Order(ctx, userID, bought.OrderID, recordTimeout)
		if err != nil {
			return fmt.Errorf("%w: order %d is not recorded yet", order.ErrUnknownOutcome, bought.OrderID)
		}
		return &gate.AlreadyBoughtError{OrderID: o.ID, Quantity: o.Quantity, Status: o.Status}
	}
	return &gate.AlreadyBoughtError{
		OrderID: bought.OrderID, Quantity: bought.Quantity, Status: p.lookup.status(ctx, bought.OrderID),
	}
}

// Order returns the user's order, or ErrNotFound, even for another user's. While the order is queued, it waits for up
// to wait until it is recorded.
//
// If an order may be named only once it has its row (PurchaseOptions.WaitForRow), Order always waits for that, and
// returns ErrUnavailable when the order has no row by then.
func (p *Purchases) Order(ctx context.Context, userID, orderID int64, wait time.Duration) (order.Order, error) {
	if p.options.WaitForRow {
		return p.lookup.row(ctx, p.notifier, userID, orderID, max(wait, recordTimeout))
	}
	return p.lookup.await(ctx, p.notifier, userID, orderID, wait)
}
