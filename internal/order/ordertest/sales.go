package ordertest

import (
	"context"
	"fmt"
	"iter"
	"sync"

	"seckill/internal/order"
	"seckill/internal/voucher"
)

// FakeSales is the ledger and the Redis of recovery, in memory.
type FakeSales struct {
	Faults
	Kept          []voucher.Voucher
	Redis         map[int64]order.SaleView
	Built         []string // the steps taken
	Dropped       bool
	Retired       []int64
	Changed       bool // the sale changes while it is checked
	FlushRequests []int64
	Suspected     []int64
	Stream        []order.Claim // in the stream
	HolderClaims  []order.Claim
	locks         sync.Map // name → *sync.Mutex
	OnViews       func()   // called before Redis is read
	OnStream      func()   // called before a sale's claims are read
	OnPublish     func(voucherID int64)
	BadSale       int64        // its rebuilds fail
	Away          map[int]bool // partitions whose sales cannot be read

	Progress   order.RoundProgress
	OnProgress func() // called after the progress is read
	Reports    []order.Claim
}

func (f *FakeSales) Voucher(_ context.Context, id int64) (v voucher.Voucher, err error) {
	err = f.Call("voucher", func() error {
		for _, kept := range f.Kept {
			if kept.ID == id {
				if v = kept; kept.Sale != nil {
					sale := *kept.Sale
					v.Sale = &sale
				}
				return nil
			}
		}
		return voucher.ErrNotFound
	})
	return v, err
}

func (f *FakeSales) SalesToKeep(context.Context) (vs []voucher.Voucher, err error) {
	err = f.Call("sales", func() error {
		for _, v := range f.Kept {
			if v.Sale == nil {
				continue
			}
			sale := *v.Sale
			v.Sale = &sale
			vs = append(vs, v)
		}
		return nil
	})
	return vs, err
}

// SalesAbove returns the ids of SalesToKeep without the older ones.
func (f *FakeSales) SalesAbove(ctx context.Context, id int64) (ids []int64, err error) {
	vs, err := f.SalesToKeep(ctx)
	for _, v := range vs {
		if v.ID > id {
			ids = append(ids, v.ID)
		}
	}
	return ids, err
}

func (f *FakeSales) RaiseEpoch(
	_ context.Context, sale int64, above int64, seen order.SaleView,
) (raised order.Raised, err error) {
	err = f.Call("raise", func() error {
		for i := range f.Kept {
			if f.Kept[i].ID == sale {
				f.Kept[i].Sale.Epoch = max(f.Kept[i].Sale.Epoch, above) + 1
				f.Kept[i].Sale.Sequence = 0
				raised.Epoch = f.Kept[i].Sale.Epoch
				f.Kept[i].Sale.LastOperation = max(f.Kept[i].Sale.LastOperation, seen.Applied)
			}
		}
		return nil
	})
	return raised, err
}

// LostDecisions returns none.
func (f *FakeSales) LostDecisions(context.Context, int64) ([]voucher.LostDecision, error) {
	return nil, nil
}

func (f *FakeSales) Snapshot(context.Context, int64, int64) (s order.Snapshot, err error) {
	err = f.Call("snapshot", func() error { s.Voucher = f.Kept[0]; return nil })
	return s, err
}

func (f *FakeSales) Retire(_ context.Context, sale int64, last int64) (retired bool, err error) {
	err = f.Call("retire", func() error {
		if retired = f.Kept[0].Sale.LastOperation == last && !f.Changed; retired {
			f.Retired = append(f.Retired, sale)
		}
		return nil
	})
	return retired, err
}

// Suspect implements recovery.Suspects.
func (f *FakeSales) Suspect(sale int64) { f.Suspected = append(f.Suspected, sale) }

func (f *FakeSales) RequestFlush(id int64) { f.FlushRequests = append(f.FlushRequests, id) }

func (f *FakeSales) Views(_ context.Context, sales []order.SaleRef) (views []order.SaleView, err error) {
	err = f.Call("views", func() error {
		if f.OnViews != nil {
			f.OnViews()
		}
		for _, s := range sales {
			if f.Away[s.Partition] {
				return ErrAway
			}
			views = append(views, f.view(s.VoucherID))
		}
		return nil
	})
	return views, err
}

// view returns a sale in Redis, with the ledger's window unless it has another.
func (f *FakeSales) view(id int64) order.SaleView {
	view := f.Redis[id]
	for _, v := range f.Kept {
		if v.ID == id && v.Sale != nil && view.Mode != order.SaleMissing && view.Begin.IsZero() {
			view.Begin, view.End = v.Sale.Begin, v.Sale.End
		}
	}
	return view
}

func (f *FakeSales) Waiting(context.Context, order.SaleRef) iter.Seq2[order.Claim, error] {
	if f.OnStream != nil {
		f.OnStream()
	}
	return sequence(f.Stream)
}

func (f *FakeSales) Holders(context.Context, order.SaleRef) iter.Seq2[order.Claim, error] {
	return sequence(f.HolderClaims)
}

func (f *FakeSales) Begin(_ context.Context, s order.SaleRef, epoch int64) error {
	return f.Call("begin", func() error {
		switch {
		case s.VoucherID == f.BadSale:
			return ErrAway
		case epoch == 0:
			return order.ErrSuperseded
		}
		view := f.Redis[s.VoucherID]
		view.Mode = order.SaleRebuilding
		f.Redis[s.VoucherID] = view
		f.Built = append(f.Built, fmt.Sprint("begin ", epoch))
		return nil
	})
}

func (f *FakeSales) SetHolders(context.Context, order.SaleRef, int64, []order.Claim, []string) error {
	return f.Call("set holders", func() error { f.Built = append(f.Built, "set holders"); return nil })
}

func (f *FakeSales) Requeue(context.Context, order.SaleRef, int64, []order.Claim) error {
	return f.Call("requeue", func() error { f.Built = append(f.Built, "requeue"); return nil })
}

func (f *FakeSales) RoundProgress(context.Context, order.SaleRef, int64) (state order.RoundProgress, err error) {
	err = f.Call("progress", func() error {
		state = f.Progress
		if f.OnProgress != nil {
			f.OnProgress()
		}
		return nil
	})
	return state, err
}

func (f *FakeSales) Reported(context.Context, order.SaleRef) iter.Seq2[order.Claim, error] {
	return sequence(f.Reports)
}

func (f *FakeSales) Publish(_ context.Context, s order.SaleRef, epoch int64, o order.Opening) error {
	return f.Call("publish", func() error {
		f.Built = append(f.Built, fmt.Sprint("publish ", epoch))
		f.Redis[s.VoucherID] = order.SaleView{
			Mode: o.Mode, Mark: order.Mark{Epoch: epoch}, Stock: o.Stock, Begin: o.Begin, End: o.End, Now: o.Begin,
		}
		if f.OnPublish != nil {
			f.OnPublish(s.VoucherID)
		}
		return nil
	})
}

func (f *FakeSales) Drop(context.Context, order.SaleRef, order.SaleView) (bool, error) {
	return f.Dropped, f.Call("drop", func() error { return nil })
}

func (f *FakeSales) Do(ctx context.Context, name string, do func(context.Context) error) error {
	l := f.Lock(name)
	l.Lock()
	defer l.Unlock()
	return do(ctx)
}

func (f *FakeSales) TryDo(ctx context.Context, name string, do func(context.Context) error) error {
	l := f.Lock(name)
	if !l.TryLock() {
		return order.ErrBusy
	}
	defer l.Unlock()
	return do(ctx)
}

func (f *FakeSales) Lock(name string) *sync.Mutex {
	l, _ := f.locks.LoadOrStore(name, new(sync.Mutex))
	return l.(*sync.Mutex)
}

func sequence(claims []order.Claim) iter.Seq2[order.Claim, error] {
	return func(yield func(order.Claim, error) bool) {
		for _, c := range claims {
			if !yield(c, nil) {
				return
			}
		}
	}
}
