// Package ordertest has test doubles of the stores and observers that several parts of package order share:
// in-memory, with faults on demand. Nothing that the server links imports it.
package ordertest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"seckill/internal/kit/retry"
	"seckill/internal/order"
)

// The window of every sale in the tests.
var (
	Begin = time.Date(2026, 1, 2, 20, 0, 0, 0, time.UTC)
	End   = Begin.Add(time.Hour)
)

// ErrAway is an infrastructure fault.
var ErrAway = errors.New("store is away")

// Quiet returns a logger that discards everything.
func Quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// Faults makes the next calls of a named step fail, before or after it took effect.
type Faults struct {
	Mu     sync.Mutex
	Before map[string]int // calls that fail without effect
	After  map[string]int // calls that take effect and lose their answer
}

// Call runs effect as the named step, unless a fault is due.
func (f *Faults) Call(step string, effect func() error) error {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	if f.Before[step] > 0 {
		f.Before[step]--
		return fmt.Errorf("%s: %w", step, ErrAway)
	}
	if err := effect(); err != nil {
		return err
	}
	if f.After[step] > 0 {
		f.After[step]--
		return fmt.Errorf("%s, answer lost: %w", step, ErrAway)
	}
	return nil
}

// FakeStores is a stream, a ledger and the holders in memory, with faults.
type FakeStores struct {
	Faults
	Fresh        []order.Entry // not delivered yet
	Pending      []order.Entry // delivered to this consumer, in order
	Acknowledged []string
	DeadLetters  []string
	Left         bool
	Heartbeats   int           // sent so far
	Owns         int           // how often the own entries were read from the beginning
	changed      chan struct{} // gets a value after each acknowledgement, if there is room

	Rows    map[int64]order.Order
	Stock   map[int64]int64
	Epoch   int64
	Refuses map[int64]bool // order ids that the ledger rejects for good
	Stuck   map[int64]bool // order ids whose holders Redis refuses to correct
	Inserts int
	Commits int
	Clash   int // number of calls of Settle that end with ErrConflict

	Operation int64          // the sale's last operation in the ledger
	Unsettled map[int64]bool // orders that a pending operation concerns
	Applied   int64          // the last operation in Redis

	Holders    map[order.BuyerKey]int64
	Given      int             // units given back to Redis
	Rebuilding map[int64]int64 // what Correct returns
	Repairs    []RepairCall
	Outcomes   map[int64]order.Status
	Flushed    []int64
	OnFlush    func() // applies the flushed operations
}

// NewFakeStores returns stores with the claims in the stream and that stock of VoucherA in the ledger.
func NewFakeStores(stock int64, claims ...order.Claim) *FakeStores {
	f := &FakeStores{
		Faults:  Faults{Before: map[string]int{}, After: map[string]int{}},
		changed: make(chan struct{}, 1), Rows: map[int64]order.Order{}, Stock: map[int64]int64{VoucherA: stock},
		Epoch: 1, Refuses: map[int64]bool{}, Holders: map[order.BuyerKey]int64{}, Outcomes: map[int64]order.Status{},
	}
	for i, c := range claims {
		f.Fresh = append(f.Fresh, order.Entry{Key: fmt.Sprintf("%03d-0", i+1), Claim: c})
		f.Holders[c.Buyer()] = c.OrderID
	}
	return f
}

func (f *FakeStores) Own(_ context.Context, after string, n int) (got []order.Entry, err error) {
	err = f.Call("own", func() error {
		if after == "" {
			f.Owns++
		}
		for _, e := range f.Pending {
			if e.Key > after && len(got) < n {
				got = append(got, e)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return got, nil
}

func (f *FakeStores) Next(ctx context.Context, n int, wait time.Duration) (got []order.Entry, err error) {
	err = f.Call("next", func() error {
		got = slices.Clone(f.Fresh[:min(n, len(f.Fresh))])
		f.Fresh = f.Fresh[len(got):]
		f.Pending = append(f.Pending, got...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(got) == 0 && wait > 0 {
		retry.Sleep(ctx, time.Millisecond)
	}
	return got, nil
}

func (f *FakeStores) Orphans(context.Context, int) ([]order.Entry, error) { return nil, nil }

func (f *FakeStores) Acknowledge(_ context.Context, keys []string) (n int, err error) {
	err = f.Call("acknowledge", func() error {
		for _, key := range keys {
			before := len(f.Pending)
			f.Pending = slices.DeleteFunc(f.Pending, func(e order.Entry) bool { return e.Key == key })
			if len(f.Pending) < before {
				n++
				f.Acknowledged = append(f.Acknowledged, key)
			}
		}
		return nil
	})
	select {
	case f.changed <- struct{}{}:
	default:
	}
	return n, err
}

func (f *FakeStores) MoveToDeadLetters(_ context.Context, e order.Entry) error {
	return f.Call("dead letter", func() error {
		f.Pending = slices.DeleteFunc(f.Pending, func(p order.Entry) bool { return p.Key == e.Key })
		f.DeadLetters = append(f.DeadLetters, e.Key)
		return nil
	})
}

// Heartbeat counts heartbeats.
func (f *FakeStores) Heartbeat(context.Context) error {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	f.Heartbeats++
	return nil
}

func (f *FakeStores) Leave(context.Context) error {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	f.Left = true
	return nil
}

func (f *FakeStores) Insert(_ context.Context, claims []order.Claim) error {
	return f.Call("insert", func() error {
		f.Inserts++
		need := map[int64]int64{}
		for _, c := range claims {
			_, taken := f.Rows[c.OrderID]
			if f.Refuses[c.OrderID] && !taken {
				return fmt.Errorf("order %d: %w", c.OrderID, order.ErrRejected)
			}
			if taken || f.live(c.Buyer()) != 0 || c.Epoch != f.Epoch {
				return order.ErrConflict
			}
			need[c.VoucherID] += c.Quantity.Units()
		}
		for v, n := range need {
			if f.Stock[v] < n {
				return order.ErrConflict
			}
		}
		f.Commits++
		for _, c := range claims {
			f.Rows[c.OrderID] = order.Order{
				ID: c.OrderID, UserID: c.UserID, VoucherID: c.VoucherID, Quantity: c.Quantity, Status: order.Unpaid,
			}
			f.Stock[c.VoucherID] -= c.Quantity.Units()
		}
		return nil
	})
}

func (f *FakeStores) live(key order.BuyerKey) int64 {
	for _, row := range f.Rows {
		if row.Status.Live() && row.UserID == key.UserID && row.VoucherID == key.VoucherID {
			return row.ID
		}
	}
	return 0
}

// ReadRows adds the rows that a claim may have to the view.
func ReadRows(view order.LedgerView, c order.Claim, rows map[int64]order.Order) {
	for try := 0; ; try++ {
		row, has := rows[c.RowID(try)]
		if has {
			view.Rows[row.ID] = row
		}
		if !has || c.HasRow(row) {
			return
		}
	}
}

func (f *FakeStores) Settle(
	_ context.Context, claims []order.Claim, decide func(order.LedgerView) []order.Decision,
) error {
	return f.Call("settle", func() error {
		view := order.LedgerView{
			Sales: map[int64]order.LedgerSale{}, Rows: map[int64]order.Order{},
			Live: map[order.BuyerKey]order.Held{}, Pending: f.Unsettled,
		}
		for v, stock := range f.Stock {
			view.Sales[v] = order.LedgerSale{Stock: stock, Epoch: f.Epoch, Operation: f.Operation}
		}
		for _, c := range claims {
			ReadRows(view, c, f.Rows)
			if id := f.live(c.Buyer()); id != 0 {
				view.Live[c.Buyer()] = order.Held{OrderID: id, Quantity: f.Rows[id].Quantity}
			}
		}
		decisions := decide(view)
		for _, d := range decisions {
			if d.Verb == order.Insert && f.Refuses[d.Claim.OrderID] {
				return fmt.Errorf("order %d: %w", d.Claim.OrderID, order.ErrRejected)
			}
		}
		if f.Clash > 0 && len(claims) > 1 {
			f.Clash--
			return order.ErrConflict
		}
		f.Commits++
		for _, d := range decisions {
			row := order.Order{
				ID: d.RowID, UserID: d.Claim.UserID, VoucherID: d.Claim.VoucherID, Quantity: d.Claim.Quantity,
				Status: order.Unpaid, Reason: d.Reason,
			}
			switch d.Verb {
			case order.Keep:
				continue
			case order.Insert:
				f.Stock[row.VoucherID] -= row.Quantity.Units()
			case order.Fail:
				row.Status = order.Failed
			}
			f.Rows[row.ID] = row
		}
		return nil
	})
}

func (f *FakeStores) Correct(_ context.Context, returns []order.Correction) (map[int64]int64, error) {
	err := f.Call("correct", func() error {
		for _, r := range returns {
			if f.Stuck[r.OrderID] {
				return fmt.Errorf("the holder by order %d: %w", r.OrderID, order.ErrRejected)
			}
			key := order.BuyerKey{VoucherID: r.Sale.VoucherID, UserID: r.UserID}
			if f.Holders[key] != r.OrderID {
				continue
			}
			if r.Until != 0 && f.Applied > r.Until {
				return fmt.Errorf("the holder by order %d: %w", r.OrderID, order.ErrOutdated)
			}
			delete(f.Holders, key)
			if r.New.OrderID != 0 {
				f.Holders[key] = r.New.OrderID
			}
			if r.GiveBack {
				f.Given++
			}
		}
		return nil
	})
	return f.Rebuilding, err
}

func (f *FakeStores) Flush(_ context.Context, voucherID int64) error {
	return f.Call("flush", func() error {
		f.Flushed = append(f.Flushed, voucherID)
		if f.OnFlush != nil {
			f.OnFlush()
		}
		return nil
	})
}

// RepairCall is one call of RequestRepair.
type RepairCall struct{ VoucherID, BadEpoch int64 }

func (f *FakeStores) RequestRepair(sale int64, broken int64) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	f.Repairs = append(f.Repairs, RepairCall{sale, broken})
}

func (f *FakeStores) Notify(outcomes map[int64]order.Status) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	maps.Copy(f.Outcomes, outcomes)
}

// Awaited returns when ctx ends: nobody waits for a row.
func (f *FakeStores) Awaited(ctx context.Context) { <-ctx.Done() }

// FakeIDs counts upwards.
type FakeIDs struct {
	mu   sync.Mutex
	Last int64
}

func (f *FakeIDs) Next(context.Context) (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.Last++
	return f.Last, nil
}
