package order

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

const (
	pollEvery = 50 * time.Millisecond // how soon an order that another instance recorded is noticed
	pollChunk = 1000                  // ids in one query
	pollTime  = 5 * time.Second       // one query at most
)

// Waitroom is where callers wait for orders to be recorded. The recorder of this instance tells them at once; for
// orders that another instance records, one query asks for everybody who waits, so a waiter costs memory and no
// query of his own.
type Waitroom struct {
	rows Rows
	log  *slog.Logger

	mu      sync.Mutex
	waiting map[int64]map[*Seat]struct{} // order id → who waits for it
	arrived chan struct{}                // holds one when somebody began to wait
	closing chan struct{}                // closed once nobody may wait any more
}

// ErrDismissed says that the process is stopping and nobody may wait any more.
var ErrDismissed = errors.New("nobody may wait any more")

// Seat is one caller's place in the room.
type Seat struct {
	room    *Waitroom
	orderID int64
	called  chan Status // holds one
	waits   bool        // Wait was called; guarded by the room
}

// NewWaitroom returns an empty room; Run serves those who wait for other instances.
func NewWaitroom(rows Rows, log *slog.Logger) *Waitroom {
	return &Waitroom{
		rows: rows, log: log, waiting: make(map[int64]map[*Seat]struct{}),
		arrived: make(chan struct{}, 1), closing: make(chan struct{}),
	}
}

// Enter takes a seat for an order. Enter before the order is asked for, so that nothing is missed; Leave in any case.
func (w *Waitroom) Enter(orderID int64) *Seat {
	s := &Seat{room: w, orderID: orderID, called: make(chan Status, 1)}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting[orderID] == nil {
		w.waiting[orderID] = make(map[*Seat]struct{}, 1)
	}
	w.waiting[orderID][s] = struct{}{}
	return s
}

// Wait returns the order's status once it has a row, ctx's error, or ErrDismissed. It is called once.
func (s *Seat) Wait(ctx context.Context) (Status, error) {
	s.room.mu.Lock()
	s.waits = true
	s.room.mu.Unlock()
	select {
	case s.room.arrived <- struct{}{}:
	default: // the ledger is being asked already
	}
	select {
	case status := <-s.called:
		return status, nil
	case <-s.room.closing:
		return StatusUnknown, ErrDismissed
	case <-ctx.Done():
		return StatusUnknown, ctx.Err()
	}
}

// Leave gives the seat up. It may be called more than once.
func (s *Seat) Leave() {
	s.room.mu.Lock()
	defer s.room.mu.Unlock()
	seats := s.room.waiting[s.orderID]
	delete(seats, s)
	if len(seats) == 0 {
		delete(s.room.waiting, s.orderID)
	}
}

// Dismiss ends all waiting, of those who wait and of those who come: the process stops, and their orders are recorded
// by another. It is called once.
func (w *Waitroom) Dismiss() { close(w.closing) }

// Told calls those who wait for any of the orders.
func (w *Waitroom) Told(outcomes map[int64]Status) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.waiting) == 0 {
		return
	}
	for id, status := range outcomes {
		for s := range w.waiting[id] {
			s.called <- status // has room: a seat is removed when it is called
		}
		delete(w.waiting, id)
	}
}

// Run asks the ledger, while anybody waits, for orders that other instances recorded, until ctx ends.
func (w *Waitroom) Run(ctx context.Context) error {
	pause := newPause()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-w.arrived:
		}
		for ids := w.ids(); len(ids) > 0 && ctx.Err() == nil; ids = w.ids() {
			start := time.Now()
			if err := w.poll(ctx, ids); err != nil {
				w.log.WarnContext(ctx, "asking for recorded orders failed; trying again", "error", err)
				rest(ctx, pause.NextBackOff())
				continue
			}
			pause.Reset()
			rest(ctx, max(pollEvery, 5*time.Since(start))) // at most a sixth of the time is spent asking
		}
	}
}

func (w *Waitroom) poll(ctx context.Context, ids []int64) error {
	for len(ids) > 0 {
		chunk := ids[:min(len(ids), pollChunk)]
		ids = ids[len(chunk):]
		call, cancel := context.WithTimeout(ctx, pollTime)
		outcomes, err := w.rows.Recorded(call, chunk)
		cancel()
		if err != nil {
			return err
		}
		w.Told(outcomes)
	}
	return nil
}

// ids returns the orders that somebody waits for. Whoever has only a seat does not know yet whether he got in.
func (w *Waitroom) ids() []int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	ids := make([]int64, 0, len(w.waiting))
	for id, seats := range w.waiting {
		for s := range seats {
			if s.waits {
				ids = append(ids, id)
				break
			}
		}
	}
	return ids
}
