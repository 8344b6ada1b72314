package service

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"seckill/internal/order"
)

const (
	pollEvery   = 50 * time.Millisecond // how soon a row that another instance wrote is noticed
	watchEvery  = time.Second           // how soon any other change by another instance is
	pollTimeout = 5 * time.Second       // one query at most
)

// Notifier lets callers wait until an order is in another state than the one they know. What this instance does to
// orders is notified at once. For what others do, one query asks for all that wait: every 50 ms for orders without a
// row, every second for recorded ones. So a waiting caller costs memory, and no goroutine, timer or query of its own.
type Notifier struct {
	rows order.Reader
	log  *slog.Logger

	started time.Time     // what Subscription.tickAt counts from
	arrived chan struct{} // holds one when somebody began to wait
	awaited chan struct{} // holds one when somebody subscribed to an order without a row
	closing chan struct{} // closed once nobody may wait any more

	mu         sync.Mutex
	unrecorded index // of subscriptions to orders without a row, as far as their callers know
	recorded   index // of those to recorded orders
}

// index is subscriptions by order id: the first of a list for each order.
type index map[int64]*Subscription

// Subscription is one caller's to one order. It is used by one goroutine.
type Subscription struct {
	notifier *Notifier
	orderID  int64
	updates  chan order.Status // holds one when Wait has to return: the new status, or the known one for a tick

	// Guarded by Notifier.mu.
	index          index         // which it is in; nil after Cancel
	previous, next *Subscription // for the same order
	known          order.Status  // what the caller knows, or was notified of
	waiting        bool          // Wait was called and there was no update since
	tickEvery      time.Duration // how long Wait lasts at most; 0: for ever
	tickAt         time.Duration // since Notifier.started
}

// NewNotifier returns a notifier; Run looks for what other instances do.
func NewNotifier(rows order.Reader, log *slog.Logger) *Notifier {
	return &Notifier{
		rows: rows, log: log, started: time.Now(), unrecorded: make(index), recorded: make(index),
		arrived: make(chan struct{}, 1), awaited: make(chan struct{}, 1), closing: make(chan struct{}),
	}
}

// Subscribe returns a subscription to an order that has no row yet, as far as the caller knows. Subscribe before
// asking for the order, so that nothing is missed; Cancel in any case.
func (n *Notifier) Subscribe(orderID int64) *Subscription { return n.subscribe(orderID, 0) }

// SubscribeWithTick is Subscribe for a caller whose Wait is to end after a while also when nothing happens.
func (n *Notifier) SubscribeWithTick(orderID int64, after time.Duration) *Subscription {
	return n.subscribe(orderID, after)
}

func (n *Notifier) subscribe(orderID int64, tickEvery time.Duration) *Subscription {
	s := &Subscription{notifier: n, orderID: orderID, updates: make(chan order.Status, 1), tickEvery: tickEvery}
	n.mu.Lock()
	n.unrecorded.add(s)
	n.mu.Unlock()
	select {
	case n.awaited <- struct{}{}:
	default: // somebody else has subscribed before
	}
	return s
}

// Awaited returns once somebody has subscribed to an order without a row, at once if somebody has; or when ctx ends.
// The recorder, the only one who calls it, gathers orders until then.
func (n *Notifier) Awaited(ctx context.Context) {
	for {
		n.mu.Lock()
		waits := len(n.unrecorded) > 0
		n.mu.Unlock()
		if waits {
			return
		}
		select {
		case <-n.awaited: // perhaps by somebody who has left again
		case <-ctx.Done():
			return
		}
	}
}

// Wait returns a status of the order that differs from the known one, as soon as there is one; the known one for a
// tick; ctx's error; or ErrStopping. The status may be out of date by the time it is returned.
func (s *Subscription) Wait(ctx context.Context, known order.Status) (order.Status, error) {
	if status, is := s.begin(known); is {
		return status, nil
	}
	select {
	case s.notifier.arrived <- struct{}{}:
	default: // the ledger is being asked already
	}
	select {
	case status := <-s.updates:
		return status, nil
	case <-s.notifier.closing:
		return order.StatusUnknown, order.ErrStopping
	case <-ctx.Done():
		return order.StatusUnknown, ctx.Err()
	}
}

// begin begins a wait, unless there is another status already.
func (s *Subscription) begin(known order.Status) (news order.Status, is bool) {
	n := s.notifier
	n.mu.Lock()
	defer n.mu.Unlock()
	select {
	case news = <-s.updates:
		is = news != known
	default:
	}
	if is {
		return news, is
	}
	s.known, s.waiting = known, true
	if s.tickEvery > 0 {
		s.tickAt = time.Since(n.started) + s.tickEvery
	}
	if on := n.indexFor(known); s.index != nil {
		s.index.remove(s)
		on.add(s)
	}
	return known, false
}

// Cancel ends the subscription. It may be called more than once.
func (s *Subscription) Cancel() {
	s.notifier.mu.Lock()
	defer s.notifier.mu.Unlock()
	if s.index != nil {
		s.index.remove(s)
	}
}

func (n *Notifier) indexFor(known order.Status) index {
	if known == order.Queued {
		return n.unrecorded
	}
	return n.recorded
}

func (x index) add(s *Subscription) {
	first := x[s.orderID]
	s.index, s.previous, s.next = x, nil, first
	if first != nil {
		first.previous = s
	}
	x[s.orderID] = s
}

func (x index) remove(s *Subscription) {
	switch {
	case s.previous != nil:
		s.previous.next = s.next
	case s.next != nil:
		x[s.orderID] = s.next
	default:
		delete(x, s.orderID)
	}
	if s.next != nil {
		s.next.previous = s.previous
	}
	s.index, s.previous, s.next = nil, nil, nil
}

// Close ends all waiting, of those who wait and of those who come: the process stops, and another sees to their
// orders. It is called once.
func (n *Notifier) Close() { close(n.closing) }

// Notify updates those who wait for any of the orders and know another status.
func (n *Notifier) Notify(outcomes map[int64]order.Status) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.unrecorded) == 0 && len(n.recorded) == 0 {
		return
	}
	for id, status := range outcomes {
		for s := n.unrecorded[id]; s != nil; s = s.next {
			s.update(status)
		}
		for s := n.recorded[id]; s != nil; s = s.next {
			s.update(status)
		}
	}
}

// update sends a status that is news to the caller. The notifier is locked.
func (s *Subscription) update(status order.Status) {
	if status != s.known {
		s.send(status)
	}
}

// send makes Wait return. An update that the caller has not received yet is no longer true. The notifier is locked,
// so nobody else sends.
func (s *Subscription) send(status order.Status) {
	s.known, s.waiting = status, false
	select {
	case <-s.updates:
	default:
	}
	s.updates <- status
}

// Run asks the ledger, while anybody waits, for what other instances do to orders, until ctx ends. It never returns
// an error: what fails is retried.
func (n *Notifier) Run(ctx context.Context) error {
	pause := order.NewBackOff()
	var watched time.Time // when recorded orders were last asked for
	for ctx.Err() == nil {
		start := time.Now()
		ids := n.ids(n.unrecorded)
		queued := len(ids) > 0
		if start.Sub(watched) >= watchEvery {
			ids, watched = append(ids, n.ids(n.recorded)...), start
		}
		if err := n.poll(ctx, ids); err != nil {
			if ctx.Err() == nil {
				n.log.WarnContext(ctx, "asking for changed orders failed; retrying", "error", err)
			}
			order.Sleep(ctx, pause.NextBackOff())
			continue
		}
		pause.Reset()
		if queued {
			order.Sleep(ctx, max(pollEvery, 5*time.Since(start))) // at most a sixth of the time is spent asking
			continue
		}
		n.idle(ctx, watchEvery-time.Since(watched))
	}
	return nil
}

// idle returns when somebody begins to wait, when recorded orders have to be asked for, or when ctx ends.
func (n *Notifier) idle(ctx context.Context, due time.Duration) {
	n.mu.Lock()
	watching := len(n.recorded) > 0
	n.mu.Unlock()
	if watching {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, due)
		defer cancel()
	}
	select {
	case <-ctx.Done():
	case <-n.arrived:
	}
}

func (n *Notifier) poll(ctx context.Context, ids []int64) error {
	for len(ids) > 0 {
		chunk := ids[:min(len(ids), order.MaxOrderIDs)]
		ids = ids[len(chunk):]
		call, cancel := context.WithTimeout(ctx, pollTimeout)
		outcomes, err := n.rows.Recorded(call, chunk)
		cancel()
		if err != nil {
			return err
		}
		n.Notify(outcomes)
	}
	return nil
}

// ids returns the orders that somebody in the index waits for, and sends the ticks that are due. A caller who has
// subscribed and does not wait does not know yet whether the order was accepted.
func (n *Notifier) ids(x index) []int64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Since(n.started)
	ids := make([]int64, 0, len(x))
	for id, s := range x {
		waits := false
		for ; s != nil; s = s.next {
			if !s.waiting {
				continue
			}
			waits = true
			if s.tickEvery > 0 && now >= s.tickAt {
				s.send(s.known)
			}
		}
		if waits {
			ids = append(ids, id)
		}
	}
	return ids
}
