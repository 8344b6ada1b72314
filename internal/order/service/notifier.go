package service

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"seckill/internal/kit/retry"
	"seckill/internal/order"
)

const (
	pollEvery   = 50 * time.Millisecond // how soon it notices a row that another instance wrote
	watchEvery  = time.Second           // how soon it notices any other change by another instance
	pollTimeout = 5 * time.Second       // most time of one query
)

// Notifier lets callers wait until an order has another state than the one they know. Changes by this instance are
// notified at once. For changes by others, one query serves all waiting callers: every 50 ms for orders without a row,
// every second for recorded ones. So a waiting caller costs memory, but no goroutine, timer or query of its own.
type Notifier struct {
	rows order.Reader
	log  *slog.Logger

	started time.Time     // what Subscription.tickAt counts from
	arrived chan struct{} // holds a value when a caller has begun to wait
	awaited chan struct{} // holds a value when a caller has subscribed to an order without a row
	closing chan struct{} // closed when the process stops: no caller may wait any more

	mu         sync.Mutex
	unrecorded index // subscriptions to orders that had no row when their callers last looked
	recorded   index // subscriptions to recorded orders
}

// index has the subscriptions to each order, as the first of a linked list.
type index map[int64]*Subscription

// Subscription is one caller's subscription to one order. One goroutine uses it.
type Subscription struct {
	notifier *Notifier
	orderID  int64
	updates  chan order.Status // holds a value when Wait must return: the new status, or the known one for a tick

	// Guarded by Notifier.mu.
	index          index         // the index it is in; nil after Cancel
	previous, next *Subscription // the others for the same order
	known          order.Status  // what the caller knows, or has been notified of
	waiting        bool          // Wait was called and no update has come since
	tickEvery      time.Duration // how long Wait lasts at most; 0: no limit
	wake           chan struct{} // of a caller with several subscriptions: holds a value when one has news; else nil
	tickAt         time.Duration // since Notifier.started
}

// NewNotifier returns a notifier; Run finds the changes by other instances.
func NewNotifier(rows order.Reader, log *slog.Logger) *Notifier {
	return &Notifier{
		rows: rows, log: log, started: time.Now(), unrecorded: make(index), recorded: make(index),
		arrived: make(chan struct{}, 1), awaited: make(chan struct{}, 1), closing: make(chan struct{}),
	}
}

// Subscribe returns a subscription to an order that the caller believes to have no row yet. Subscribe before reading
// the order, so that no change is missed, and always call Cancel.
func (n *Notifier) Subscribe(orderID int64) *Subscription { return n.SubscribeWithTick(orderID, 0) }

// SubscribeWithTick is Subscribe for a caller whose Wait must also end after a while without news.
func (n *Notifier) SubscribeWithTick(orderID int64, tickEvery time.Duration) *Subscription {
	return n.add(&Subscription{orderID: orderID, tickEvery: tickEvery})
}

// SubscribeTo is Subscribe for a caller with several subscriptions, who is woken when one has news: it then calls
// News of each.
func (n *Notifier) SubscribeTo(orderID int64, wake chan struct{}) *Subscription {
	return n.add(&Subscription{orderID: orderID, wake: wake})
}

func (n *Notifier) add(s *Subscription) *Subscription {
	s.notifier, s.updates = n, make(chan order.Status, 1)
	n.mu.Lock()
	n.unrecorded.add(s)
	n.mu.Unlock()
	signal(n.awaited)
	return s
}

// signal puts a value into a channel that holds one, unless it is there already.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Awaited returns once a caller has subscribed to an order without a row (at once if one has), or when ctx ends. Only
// the recorder calls it, and gathers orders until then.
func (n *Notifier) Awaited(ctx context.Context) {
	for {
		n.mu.Lock()
		waits := len(n.unrecorded) > 0
		n.mu.Unlock()
		if waits {
			return
		}
		select {
		case <-n.awaited: // perhaps by a caller who has left again
		case <-ctx.Done():
			return
		}
	}
}

// Wait returns a status of the order that differs from the known one, as soon as there is one; the known one for a
// tick; ctx's error; or ErrStopping. The status may be outdated when it is returned.
func (s *Subscription) Wait(ctx context.Context, known order.Status) (order.Status, error) {
	if status, is := s.begin(known); is {
		return status, nil
	}
	signal(s.notifier.arrived)
	select {
	case status := <-s.updates:
		return status, nil
	case <-s.notifier.closing:
		return order.StatusUnknown, order.ErrStopping
	case <-ctx.Done():
		return order.StatusUnknown, ctx.Err()
	}
}

// News reports whether the order has another state than the caller of Await knew.
func (s *Subscription) News() bool {
	select {
	case <-s.updates:
		return true
	default:
		return false
	}
}

// Await begins to wait for a state that differs from the known one, and does not block. News that came before it is
// forgotten: if it is no older than what the caller knows, the next query finds it again.
func (s *Subscription) Await(known order.Status) {
	for old := true; old; {
		_, old = s.begin(known)
	}
	signal(s.notifier.arrived)
}

// begin begins a wait, unless the status already differs.
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

// Close ends all waiting, present and future: the process stops, and another one serves these callers. Call it once.
func (n *Notifier) Close() { close(n.closing) }

// Notify updates the callers who wait for any of the orders and know a different status.
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

// update sends a status that is new to the caller. The notifier is locked.
func (s *Subscription) update(status order.Status) {
	if status != s.known {
		s.send(status)
	}
}

// send makes Wait return. It replaces an update that the caller has not received yet, which is outdated. The notifier
// is locked, so nobody else sends.
func (s *Subscription) send(status order.Status) {
	s.known, s.waiting = status, false
	select {
	case <-s.updates:
	default:
	}
	s.updates <- status
	if s.wake != nil {
		signal(s.wake)
	}
}

// Run queries the ledger, while callers wait, for changes by other instances, until ctx ends. It retries failures, so
// it returns no other error.
func (n *Notifier) Run(ctx context.Context) error {
	pause := retry.NewBackOff()
	var watched time.Time // when recorded orders were last queried
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
			retry.Sleep(ctx, pause.NextBackOff())
			continue
		}
		pause.Reset()
		if queued {
			retry.Sleep(ctx, max(pollEvery, 5*time.Since(start))) // at most a sixth of the time is spent asking
			continue
		}
		n.idle(ctx, watchEvery-time.Since(watched))
	}
	return nil
}

// idle returns when a caller begins to wait, when recorded orders are due for a query, or when ctx ends.
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
	for chunk := range slices.Chunk(ids, order.MaxOrderIDs) {
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

// ids returns the orders in the index for which a caller waits, and sends the ticks that are due. A caller who has
// subscribed but does not wait does not know yet whether the order was accepted.
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
