package order

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

// ErrDismissed says that the process is stopping and nobody may wait any more.
var ErrDismissed = errors.New("nobody may wait any more")

// Waitroom is where callers wait for an order to be in another state than the one they know. What this instance does to
// orders is told at once; for what others do, one query asks for everybody who waits: those who wait for a row every 50
// ms, those who watch a recorded order every second. So a waiter costs memory, and no goroutine, timer or query of his
// own.
type Waitroom struct {
	rows Rows
	log  *slog.Logger

	opened  time.Time     // what seats count their time from
	arrived chan struct{} // holds one when somebody began to wait
	closing chan struct{} // closed once nobody may wait any more

	mu     sync.Mutex
	queue  bench // for seats whose order has no row, as far as they know
	stalls bench // for those who watch a recorded order
}

// bench is the seats of a room by order id: the first of those for each order.
type bench map[int64]*Seat

// Seat is one caller's place in the room. It is used by one goroutine.
type Seat struct {
	room    *Waitroom
	orderID int64
	bell    chan Status // holds one when the caller has to get up: what he is told, or what he knows when he is stirred

	// Guarded by the room.
	bench          bench         // where it stands; nil after Leave
	previous, next *Seat         // for the same order
	known          Status        // what the caller knows, or has been told
	waits          bool          // Wait was called and the bell has not rung since
	stir           time.Duration // how long it waits at most before it is stirred; 0: for ever
	stirAt         time.Duration // since the room was opened
}

// NewWaitroom returns an empty room; Run serves those who wait for other instances.
func NewWaitroom(rows Rows, log *slog.Logger) *Waitroom {
	return &Waitroom{
		rows: rows, log: log, opened: time.Now(), queue: make(bench), stalls: make(bench),
		arrived: make(chan struct{}, 1), closing: make(chan struct{}),
	}
}

// Enter takes a seat for an order that has no row yet, as far as the caller knows. Enter before the order is asked for,
// so that nothing is missed; Leave in any case.
func (w *Waitroom) Enter(orderID int64) *Seat { return w.enter(orderID, 0) }

// EnterStirred is Enter for one who wants his Wait to end after a while also when nothing happens.
func (w *Waitroom) EnterStirred(orderID int64, after time.Duration) *Seat {
	return w.enter(orderID, after)
}

func (w *Waitroom) enter(orderID int64, stir time.Duration) *Seat {
	s := &Seat{room: w, orderID: orderID, bell: make(chan Status, 1), stir: stir}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queue.add(s)
	return s
}

// Wait returns a status of the order that differs from the known one, as soon as there is one; the known one when the
// seat is stirred; ctx's error; or ErrDismissed. The status may be out of date by the time it is returned.
func (s *Seat) Wait(ctx context.Context, known Status) (Status, error) {
	if status, is := s.settle(known); is {
		return status, nil
	}
	select {
	case s.room.arrived <- struct{}{}:
	default: // the ledger is being asked already
	}
	select {
	case told := <-s.bell:
		return told, nil
	case <-s.room.closing:
		return StatusUnknown, ErrDismissed
	case <-ctx.Done():
		return StatusUnknown, ctx.Err()
	}
}

// settle begins a wait, unless the seat was told of another status before.
func (s *Seat) settle(known Status) (news Status, is bool) {
	w := s.room
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case news = <-s.bell:
		is = news != known
	default:
	}
	if is {
		return news, is
	}
	s.known, s.waits = known, true
	if s.stir > 0 {
		s.stirAt = time.Since(w.opened) + s.stir
	}
	if on := w.benchFor(known); s.bench != nil {
		s.bench.remove(s)
		on.add(s)
	}
	return known, false
}

// Leave gives the seat up. It may be called more than once.
func (s *Seat) Leave() {
	s.room.mu.Lock()
	defer s.room.mu.Unlock()
	if s.bench != nil {
		s.bench.remove(s)
	}
}

func (w *Waitroom) benchFor(known Status) bench {
	if known == Queued {
		return w.queue
	}
	return w.stalls
}

func (b bench) add(s *Seat) {
	first := b[s.orderID]
	s.bench, s.previous, s.next = b, nil, first
	if first != nil {
		first.previous = s
	}
	b[s.orderID] = s
}

func (b bench) remove(s *Seat) {
	switch {
	case s.previous != nil:
		s.previous.next = s.next
	case s.next != nil:
		b[s.orderID] = s.next
	default:
		delete(b, s.orderID)
	}
	if s.next != nil {
		s.next.previous = s.previous
	}
	s.bench, s.previous, s.next = nil, nil, nil
}

// Dismiss ends all waiting, of those who wait and of those who come: the process stops, and their orders are seen to by
// another. It is called once.
func (w *Waitroom) Dismiss() { close(w.closing) }

// Told calls those who wait for any of the orders and know another status.
func (w *Waitroom) Told(outcomes map[int64]Status) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.queue) == 0 && len(w.stalls) == 0 {
		return
	}
	for id, status := range outcomes {
		for s := w.queue[id]; s != nil; s = s.next {
			s.tell(status)
		}
		for s := w.stalls[id]; s != nil; s = s.next {
			s.tell(status)
		}
	}
}

// tell notes a status and rings, if it is news. The room is locked.
func (s *Seat) tell(status Status) {
	if status != s.known {
		s.ring(status)
	}
}

// ring has the caller get up. What he was told before and has not heard is no longer true. The room is locked, so nobody
// else rings.
func (s *Seat) ring(status Status) {
	s.known, s.waits = status, false
	select {
	case <-s.bell:
	default:
	}
	s.bell <- status
}
