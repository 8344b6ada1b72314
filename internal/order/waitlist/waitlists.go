package waitlist

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"seckill/internal/kit/batch"
	"seckill/internal/kit/bulkhead"
	"seckill/internal/order"
	"seckill/internal/voucher"
)

const (
	joinSize    = 500             // places in one transaction at most
	joinTimeout = 5 * time.Second // one call: a look at Redis and one transaction
	joinWait    = 3 * time.Second // a join that would wait for longer is refused at once
	// stepTimeout is how long one transaction of a user's may take.
	stepTimeout = 5 * time.Second
	// decideTimeout is how long an accept waits for its order: a little longer than Redis has it wait in a sold-out
	// sale.
	decideTimeout = 2500 * time.Millisecond
	// readTimeout is how long reading places may take.
	readTimeout = 700 * time.Millisecond
	// MaxPlaces is how many of a user's places are shown.
	MaxPlaces = 50
)

// Ledger keeps the waiting lists. Each method but Place, Places and Counts is one transaction; all may return
// order.ErrUnavailable.
type Ledger interface {
	// Join gives the users places in the order given, those who have an open place that one. Who has a live order of
	// the sale gets none, and is missing in the answer.
	Join(ctx context.Context, voucherID int64, users []int64) (map[int64]Place, error)
	// Place returns the user's open place, or their latest. ErrNoPlace.
	Place(ctx context.Context, voucherID, userID int64) (Place, error)
	// Places returns the user's open places, those of the newest vouchers first, at most limit.
	Places(ctx context.Context, userID int64, limit int) ([]Place, error)
	// Counts returns how many places a list has in each state.
	Counts(ctx context.Context, voucherID int64) (Counts, error)
	OfferLedger
}

// OfferLedger is the part of it that decides about offers.
type OfferLedger interface {
	// Accept accepts the user's offer, with an operation that has Redis asked. Repeated, it returns the place with
	// the order id of the first time. ErrNoOffer, also past the deadline; ErrNoPlace.
	Accept(ctx context.Context, voucherID, userID, orderID int64) (Place, error)
	// Leave gives up the user's place and its offer, which goes to the next. One that has ended stays as it is.
	// ErrNoPlace, ErrAccepted.
	Leave(ctx context.Context, voucherID, userID int64) (Place, error)
	// SeeToOffers ends offers whose deadline has passed by the ledger's clock and passes their units on, has Redis
	// asked again about accepted ones whose operation was voided, and ends the places of sales that are over; of each
	// as many as one transaction takes. order.ErrSuperseded when a higher token was used.
	SeeToOffers(ctx context.Context, token int64) (Pass, error)
}

// Sales reads sales in Redis.
type Sales interface {
	order.HolderReader
	// Views returns the state of each sale, in the order asked.
	Views(ctx context.Context, sales []order.SaleRef) ([]order.SaleView, error)
}

// Rows reads recorded orders: the ledger.
type Rows interface {
	// LiveOrder returns the user's live order for a seckill voucher, or order.ErrNotFound.
	LiveOrder(ctx context.Context, key order.BuyerKey) (order.Order, error)
}

// Outbox brings Redis up to the ledger, while a caller waits or soon.
type Outbox interface {
	voucher.Outbox
	order.FlushRequester
}

// Observer is told what happens on waiting lists, for metrics. Its methods must not block.
type Observer interface {
	// WaitlistJoined: a request to join was answered; err is nil for a place.
	WaitlistJoined(err error)
	// OfferDecided: an offer was accepted, or declined.
	OfferDecided(accepted bool)
	// OffersSeenTo: one look at the offers changed so much, or failed with err.
	OffersSeenTo(p Pass, took time.Duration, err error)
}

// Stores are what Waitlists work on.
type Stores struct {
	Ledger Ledger
	Sales  Sales
	Rows   Rows
	IDs    order.IDs
	Outbox Outbox
}

// Waitlists are the waiting lists of all sales, for those who wait and for admins. Those who join a sale's list while a
// transaction is under way share the next one.
type Waitlists struct {
	stores   Stores
	observer Observer
	running  sync.WaitGroup // goroutines that join
	joining  sync.Map       // voucher id → *joins; one for each sale that somebody joined since the start
}

// joins are the calls by which users join one list, one after the other.
type joins = batch.Batcher[int64, joined]

// joined is the answer to one of them.
type joined struct {
	place Place
	err   error
}

// New returns the waiting lists of the stores.
func New(stores Stores, observer Observer) *Waitlists {
	return &Waitlists{stores: stores, observer: observer}
}

// Close waits for calls that are under way. No new ones may begin.
func (w *Waitlists) Close() { w.running.Wait() }

// Join gives the user a place on the list of a voucher, as the catalog has it, or the one that they have. It returns
// voucher.ErrNotFound, voucher.ErrNotSeckill, voucher.ErrOffShelf, ErrNoList, ErrOnSale, *order.AlreadyBoughtError, the
// refusals of a sale that is not running, and order.ErrUnavailable: repeating the call tells then.
func (w *Waitlists) Join(ctx context.Context, userID int64, v voucher.Voucher) (Place, error) {
	p, err := w.join(ctx, userID, v)
	w.observer.WaitlistJoined(err)
	return p, err
}

func (w *Waitlists) join(ctx context.Context, userID int64, v voucher.Voucher) (Place, error) {
	switch {
	case v.Sale == nil:
		return Place{}, voucher.ErrNotSeckill
	case !v.Sale.HasWaitlist():
		return Place{}, ErrNoList
	case v.Status != voucher.OnShelf:
		return Place{}, voucher.ErrOffShelf
	}
	answer, err := w.joinsOf(order.SaleOf(v)).Do(ctx, userID)
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
		func(ctx context.Context, items []*batch.Item[int64, joined]) error { return w.call(ctx, sale, items) })
	known, _ := w.joining.LoadOrStore(sale.VoucherID, b)
	return known.(*joins) //nolint:forcetypeassert // nothing else is stored
}

// call is one transaction for many who join a list. Redis is asked first: whether the sale is sold out, and who has
// bought.
func (w *Waitlists) call(ctx context.Context, sale order.SaleRef, items []*batch.Item[int64, joined]) error {
	ctx, cancel := context.WithTimeout(bulkhead.With(ctx, bulkhead.OwnRead), joinTimeout)
	defer cancel()
	views, err := w.stores.Sales.Views(ctx, []order.SaleRef{sale})
	if err != nil {
		return orUnavailable(err)
	}
	if err := refusal(views[0]); err != nil {
		for _, it := range items {
			it.Answer.err = err
		}
		return nil
	}
	users := make([]int64, len(items))
	for i, it := range items {
		users[i] = it.Request
	}
	held, err := w.stores.Sales.OrdersOf(ctx, sale, users)
	if err != nil {
		return orUnavailable(err)
	}
	var joining []int64
	for i, user := range users {
		if held[i] == 0 {
			joining = append(joining, user)
		}
	}
	places := map[int64]Place{}
	if len(joining) > 0 {
		if places, err = w.stores.Ledger.Join(ctx, sale.VoucherID, joining); err != nil {
			return orUnavailable(err)
		}
	}
	for i, it := range items {
		if p, has := places[it.Request]; has {
			it.Answer.place = p
			continue
		}
		it.Answer.err = w.bought(ctx, order.BuyerKey{VoucherID: sale.VoucherID, UserID: it.Request}, held[i])
	}
	return nil
}

// bought is the error of a user who has an order already, which is the one given if Redis knew it.
func (w *Waitlists) bought(ctx context.Context, key order.BuyerKey, orderID int64) error {
	if orderID != 0 {
		return &order.AlreadyBoughtError{OrderID: orderID, Status: order.StatusUnknown}
	}
	o, err := w.stores.Rows.LiveOrder(ctx, key)
	if err != nil {
		return orUnavailable(err)
	}
	return &order.AlreadyBoughtError{OrderID: o.ID, Quantity: o.Quantity, Status: o.Status}
}

// refusal returns why nobody can join the list of a sale now, or nil. By Redis's clock (rule 12).
func refusal(v order.SaleView) error {
	switch {
	case v.Mode == order.SaleOffShelf:
		return voucher.ErrOffShelf
	case v.Mode == order.SaleMissing, v.Mode == order.SaleRebuilding, v.Mode == order.SalePaused:
		return order.ErrPaused
	case v.Now.Before(v.Begin):
		return order.ErrNotStarted
	case !v.Now.Before(v.End):
		return order.ErrEnded
	case v.Stock > 0:
		return ErrOnSale
	default:
		return nil
	}
}

// Place returns the user's open place, or their latest. ErrNoPlace, order.ErrUnavailable.
func (w *Waitlists) Place(ctx context.Context, userID, voucherID int64) (Place, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	p, err := w.stores.Ledger.Place(ctx, voucherID, userID)
	return p, orUnavailable(err)
}

// Places returns the user's open places, at most MaxPlaces. order.ErrUnavailable.
func (w *Waitlists) Places(ctx context.Context, userID int64) ([]Place, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	places, err := w.stores.Ledger.Places(ctx, userID, MaxPlaces)
	return places, orUnavailable(err)
}

// Counts returns how many places the voucher's list has in each state: for admins. voucher.ErrNotSeckill, ErrNoList,
// order.ErrUnavailable.
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

// Accept accepts the user's offer and waits a little for the order that it becomes. The place is Bought then, or
// Refused, or Accepted still: its order is made soon. Repeating is harmless. voucher.ErrOffShelf, ErrNoPlace,
// ErrNoOffer, order.ErrUnavailable.
func (w *Waitlists) Accept(ctx context.Context, userID int64, v voucher.Voucher) (Place, error) {
	if v.Status != voucher.OnShelf {
		return Place{}, voucher.ErrOffShelf
	}
	id, err := w.stores.IDs.Next(ctx)
	if err != nil {
		return Place{}, orUnavailable(err)
	}
	step, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	p, err := w.stores.Ledger.Accept(step, v.ID, userID, id)
	if err != nil || p.State != Accepted {
		return p, orUnavailable(err)
	}
	if p.OrderID == id {
		w.observer.OfferDecided(true)
	}
	w.stores.Outbox.RequestFlush(v.ID) // it is decided also if this caller goes away
	deciding, cancel := context.WithTimeout(ctx, decideTimeout)
	defer cancel()
	if err := w.stores.Outbox.Flush(deciding, v.ID); err != nil {
		return p, nil // it is accepted, and any outbox goes on
	}
	if decided, err := w.Place(ctx, userID, v.ID); err == nil && decided.Position == p.Position {
		return decided, nil
	}
	return p, nil
}

// Leave gives up the user's place, and its offer if it has one. ErrNoPlace, ErrAccepted, order.ErrUnavailable.
func (w *Waitlists) Leave(ctx context.Context, userID, voucherID int64) (Place, error) {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	p, err := w.stores.Ledger.Leave(ctx, voucherID, userID)
	if err != nil {
		return p, orUnavailable(err)
	}
	if !p.OfferedAt.IsZero() && p.State == Left {
		w.observer.OfferDecided(false)
		w.stores.Outbox.RequestFlush(voucherID) // nobody may wait for the unit, so that it goes on sale
	}
	return p, nil
}

// orUnavailable is order.OrUnavailable for this package's errors too.
func orUnavailable(err error) error {
	for _, answer := range []error{ErrNoPlace, ErrNoOffer, ErrAccepted, voucher.ErrNotSeckill} {
		if errors.Is(err, answer) {
			return err
		}
	}
	if errors.Is(err, batch.ErrNotSent) {
		return fmt.Errorf("%w: %w", order.ErrUnavailable, err)
	}
	return order.OrUnavailable(err)
}
