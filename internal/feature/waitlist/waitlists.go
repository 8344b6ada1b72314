package waitlist

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"seckill/internal/feature"
	"seckill/internal/kit/batch"
	"seckill/internal/kit/bulkhead"
	"seckill/internal/order"
	"seckill/internal/order/gate"
	"seckill/internal/voucher"
)

const (
	joinSize    = 500             // places in one transaction at most
	joinTimeout = 5 * time.Second // one call: a look at Redis and one transaction
	joinWait    = 3 * time.Second // a join that would wait for longer is refused at once
	// stepTimeout bounds one transaction of a user's call.
	stepTimeout = 5 * time.Second
	// decideTimeout is how long an accept waits for its order: a little longer than it waits in Redis while the sale is
	// sold out (scripts/apply.lua).
	decideTimeout = 2500 * time.Millisecond
	// readTimeout bounds the reading of places.
	readTimeout = 700 * time.Millisecond
	// MaxPlaces is how many of a user's places are shown.
	MaxPlaces = 50
)

// Lists is the part of the ledger that Waitlists need: *Ledger. Each method may return order.ErrUnavailable.
type Lists interface {
	// Join gives the users places in the order given. A user with an open place keeps it; a user with a live order of
	// the sale gets none, and is missing in the answer. Errors: ErrBehind, gate.ErrEnded.
	Join(ctx context.Context, voucherID int64, joining []Joining, applied int64) (map[int64]Place, error)
	// Accept accepts the user's invitation. A repeated call returns the place with the order id of the first.
	// Errors: voucher.ErrOffShelf, gate.ErrPaused, ErrNoPlace, ErrNotInvited.
	Accept(ctx context.Context, v voucher.Voucher, userID, orderID int64) (Place, error)
	// Leave gives up the user's place. Errors: ErrNoPlace, ErrAccepted.
	Leave(ctx context.Context, voucherID, userID int64) (Place, error)
	// Place returns the user's open place, or their latest. Error: ErrNoPlace.
	Place(ctx context.Context, voucherID, userID int64) (Place, error)
	// Places returns the user's open places, those of the newest vouchers first, at most limit.
	Places(ctx context.Context, userID int64, limit int) ([]Place, error)
	// Counts returns how many places a list has in each state.
	Counts(ctx context.Context, voucherID int64) (Counts, error)
}

// Stores are the stores of Waitlists.
type Stores struct {
	Ledger Lists
	// Views returns the state of sales in Redis, in the order asked. Held returns the users' orders there.
	Views func(ctx context.Context, sales []order.SaleRef) ([]order.SaleView, error)
	Held  func(ctx context.Context, sale order.SaleRef, users []int64) ([]int64, error)
	// LiveOrder returns the user's recorded live order for a seckill voucher, or order.ErrNotFound.
	LiveOrder func(ctx context.Context, key order.BuyerKey) (order.Order, error)
	IDs       order.IDs
	Outbox    feature.Outbox
	Turns     *Turns
	Wake      func(voucherID int64) // makes the job take the turns of a list
}

// Waitlists are the waiting lists of all sales, for waiting users and for admins. Users who join a sale's list while a
// transaction is under way share the next one.
type Waitlists struct {
	stores  Stores
	metrics *Metrics
	running batch.Running // goroutines that join
	joining sync.Map      // voucher id → *joins; one for each sale that somebody joined since the start
}

// joins batches the calls that join one list.
type joins = batch.Batcher[Joining, joined]

// joined is one user's result of a batch.
type joined struct {
	place Place
	err   error
}

// NewWaitlists returns the waiting lists of the stores.
func NewWaitlists(stores Stores, metrics *Metrics) *Waitlists {
	return &Waitlists{stores: stores, metrics: metrics}
}

// Close waits for calls that are under way. Begin no call after it.
func (w *Waitlists) Close() { w.running.Wait() }

// Join implements Service. The voucher comes from the catalog.
func (w *Waitlists) Join(
	ctx context.Context, userID int64, v voucher.Voucher, standing *bool,
) (_ Place, err error) {
	defer func() { w.metrics.Joined(err) }()
	switch {
	case v.Sale == nil:
		return Place{}, voucher.ErrNotSeckill
	case !v.Sale.HasWaitlist():
		return Place{}, ErrNoList
	case v.Status != voucher.OnShelf:
		return Place{}, voucher.ErrOffShelf
	}
	answer, err := w.joinsOf(order.SaleOf(v)).Do(ctx, Joining{UserID: userID, Standing: standing})
	if err != nil {
		return Place{}, orUnavailable(err)
	}
	return answer.place, answer.err
}

func (w *Waitlists) joinsOf(sale order.SaleRef) *joins {
	if known, ok := w.joining.Load(sale.VoucherID); ok {
		return known.(*joins) //nolint:forcetypeassert // nothing else is stored
	}
	options := batch.Options{Size: joinSize, Calls: 1, MaxWait: joinWait, FailWaiting: true, Running: &w.running}
	b := batch.New(options,
		func(ctx context.Context, items []*batch.Item[Joining, joined]) error { return w.call(ctx, sale, items) })
	known, _ := w.joining.LoadOrStore(sale.VoucherID, b)
	return known.(*joins) //nolint:forcetypeassert // nothing else is stored
}

// call runs one transaction for many users who join a list. It first asks Redis whether the sale is sold out, and which
// of the users have bought.
func (w *Waitlists) call(ctx context.Context, sale order.SaleRef, items []*batch.Item[Joining, joined]) error {
	ctx, cancel := context.WithTimeout(bulkhead.With(ctx, bulkhead.OwnRead), joinTimeout)
	defer cancel()
	places, held, refused, err := w.places(ctx, sale, items)
	if errors.Is(err, ErrBehind) { // the first user to join after a cancellation meets this
		if err = w.stores.Outbox.Flush(ctx, sale.VoucherID); err == nil {
			places, held, refused, err = w.places(ctx, sale, items)
		}
		if errors.Is(err, ErrBehind) {
			err = fmt.Errorf("%w: %w", order.ErrUnavailable, err)
		}
	}
	if err != nil {
		return orUnavailable(err)
	}
	claimed := make(map[int64]bool)
	for i, it := range items {
		user := it.Request.UserID
		p, has := places[user]
		switch {
		case refused != nil:
			it.Answer.err = refused
		case has: // if a user has several calls in one transaction, one with a yes claims the unit
			p.Claims = p.Claims && it.Request.yes() && !claimed[user]
			claimed[user] = claimed[user] || p.Claims
			it.Answer.place = p
		default:
			it.Answer.err = w.bought(ctx, order.BuyerKey{VoucherID: sale.VoucherID, UserID: user}, held[i])
		}
	}
	return nil
}

// places returns the places of the users who join, and the orders of the users who have one; or an error if all are
// refused.
func (w *Waitlists) places(
	ctx context.Context, sale order.SaleRef, items []*batch.Item[Joining, joined],
) (places map[int64]Place, held []int64, refused, err error) {
	views, err := w.stores.Views(ctx, []order.SaleRef{sale})
	if err != nil {
		return nil, nil, nil, err
	}
	if refused := refusal(views[0]); refused != nil {
		return nil, nil, refused, nil
	}
	users := make([]int64, len(items))
	for i, it := range items {
		users[i] = it.Request.UserID
	}
	if held, err = w.stores.Held(ctx, sale, users); err != nil {
		return nil, nil, nil, err
	}
	var joining []Joining
	for i, it := range items {
		if held[i] == 0 {
			joining = append(joining, it.Request)
		}
	}
	if len(joining) == 0 {
		return nil, held, nil, nil
	}
	places, err = w.stores.Ledger.Join(ctx, sale.VoucherID, joining, views[0].Applied)
	if errors.Is(err, gate.ErrEnded) {
		return nil, held, gate.ErrEnded, nil
	}
	return places, held, nil, err
}

// bought returns the error for a user with an order: orderID if Redis knew it, else the order in the ledger.
func (w *Waitlists) bought(ctx context.Context, key order.BuyerKey, orderID int64) error {
	if orderID != 0 {
		return &gate.AlreadyBoughtError{OrderID: orderID, Status: order.StatusUnknown}
	}
	o, err := w.stores.LiveOrder(ctx, key)
	if err != nil {
		return orUnavailable(err)
	}
	return &gate.AlreadyBoughtError{OrderID: o.ID, Quantity: o.Quantity, Status: o.Status}
}

// refusal returns nil if users can join the list of a sale now, else an error. It goes by Redis's clock (rule 12).
func refusal(v order.SaleView) error {
	switch {
	case v.Mode == order.SaleCalledOff:
		return voucher.ErrCalledOff
	case v.Mode == order.SaleOffShelf:
		return voucher.ErrOffShelf
	case v.Mode == order.SaleMissing, v.Mode == order.SaleRebuilding, v.Mode == order.SalePaused:
		return gate.ErrPaused
	case v.Now.Before(v.Begin):
		return gate.ErrNotStarted
	case !v.Now.Before(v.End):
		return gate.ErrEnded
	case v.Stock > 0:
		return ErrOnSale
	default:
		return nil
	}
}

// Place implements Service.
func (w *Waitlists) Place(ctx context.Context, userID, voucherID int64) (Place, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	p, err := w.stores.Ledger.Place(ctx, voucherID, userID)
	return p, orUnavailable(err)
}

// Places implements Service. It returns at most MaxPlaces.
func (w *Waitlists) Places(ctx context.Context, userID int64) ([]Place, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	places, err := w.stores.Ledger.Places(ctx, userID, MaxPlaces)
	return places, orUnavailable(err)
}

// Counts implements Service.
func (w *Waitlists) Counts(ctx context.Context, v voucher.Voucher) (Counts, error) {
	switch {
	case v.Sale == nil:
		return Counts{}, voucher.ErrNotSeckill
	case !v.Sale.HasWaitlist():
		return Counts{}, ErrNoList
	}
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	c, err := w.stores.Ledger.Counts(ctx, v.ID)
	return c, orUnavailable(err)
}

// Accept implements Service.
func (w *Waitlists) Accept(ctx context.Context, userID int64, v voucher.Voucher) (Place, error) {
	id, err := w.stores.IDs.Next(ctx)
	if err != nil {
		return Place{}, orUnavailable(err)
	}
	step, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	p, err := w.stores.Ledger.Accept(step, v, userID, id)
	if err != nil {
		return Place{OrderID: id}, orUnavailable(err)
	}
	if p.State != Accepted {
		return p, nil
	}
	if p.OrderID == id {
		w.metrics.Answered(true)
	}
	w.stores.Outbox.RequestFlush(v.ID) // Redis decides the acceptance even if this caller goes away
	deciding, cancel := context.WithTimeout(ctx, decideTimeout)
	defer cancel()
	if err := w.stores.Outbox.Flush(deciding, v.ID); err != nil {
		return p, nil // it is accepted, and any outbox goes on
	}
	if err := w.stores.Turns.Take(deciding, v.ID); err != nil {
		return p, nil // likewise
	}
	if decided, err := w.Place(ctx, userID, v.ID); err == nil && decided.Position == p.Position {
		decided.Claims = p.Claims
		return decided, nil
	}
	return p, nil
}

// Leave implements Service.
func (w *Waitlists) Leave(ctx context.Context, userID, voucherID int64) (Place, error) {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	p, err := w.stores.Ledger.Leave(ctx, voucherID, userID)
	if err != nil {
		return p, orUnavailable(err)
	}
	if p.State == Declined {
		w.metrics.Answered(false)
	}
	w.stores.Wake(voucherID) // a unit that was kept for this user is now for the next
	return p, nil
}

// doubtful reports whether err leaves open what became of a request, or of an earlier try of it.
func doubtful(err error) bool {
	return errors.Is(err, order.ErrUnavailable) || errors.Is(err, order.ErrUnknownChange)
}

// orUnavailable is order.OrUnavailable, but leaves refusals as they are.
func orUnavailable(err error) error {
	for _, answer := range []error{ErrNoPlace, ErrNotInvited, ErrAccepted, voucher.ErrNotSeckill, gate.ErrPaused} {
		if errors.Is(err, answer) {
			return err
		}
	}
	if errors.Is(err, batch.ErrNotSent) {
		return fmt.Errorf("%w: %w", order.ErrUnavailable, err)
	}
	return order.OrUnavailable(err)
}
