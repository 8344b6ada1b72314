package shoptest

import (
	"context"
	"sync"
	"time"

	"seckill/internal/kit/invalid"
	"seckill/internal/voucher"
	"seckill/internal/voucher/listing"
)

// FakeVouchers stores what is created and shows what its functions return. Its rules are the real ones: drafts go
// through voucher.Service.
type FakeVouchers struct {
	Mu      sync.Mutex
	Created []voucher.Voucher
	By      voucher.Author // who created the last one

	Get    func(id int64) (voucher.Shown, error)
	OnList func(shopID int64) ([]voucher.Shown, error)
	OnAll  func(voucher.Search) (voucher.Found, error)
}

func (f *FakeVouchers) Service() *voucher.Service {
	return voucher.NewService(voucher.Parts{
		Ledger: f, Changed: f.Changed, Live: f.Live, Open: f.Open, Place: f.Place,
		Now: func() time.Time { return Noon },
	})
}

func (f *FakeVouchers) CreateOrdinary(ctx context.Context, by voucher.Author, d voucher.Draft) (voucher.Shown, error) {
	return f.Service().CreateOrdinary(ctx, by, d)
}

func (f *FakeVouchers) CreateSeckill(
	ctx context.Context, by voucher.Author, d voucher.Draft, sd voucher.SaleDraft,
) (voucher.Shown, error) {
	return f.Service().CreateSeckill(ctx, by, d, sd)
}

// Changed is the listings' hook; it does nothing.
func (f *FakeVouchers) Changed(context.Context, voucher.Voucher) {}

// Place takes partitions 0 to 3.
func (f *FakeVouchers) Place(_ context.Context, wanted *int64) (int, error) {
	switch {
	case wanted == nil:
		return 0, nil
	case *wanted < 0 || *wanted > 3:
		return 0, invalid.Join(invalid.Outside("partition", 4, 0, 3))
	default:
		return int(*wanted), nil
	}
}

// FakeListings show what the functions of a FakeVouchers return, at RedisNoon.
type FakeListings struct{ *FakeVouchers }

func (f FakeListings) Voucher(_ context.Context, id int64) (listing.Snapshot, error) {
	if f.Get == nil {
		return listing.Snapshot{}, voucher.ErrNotFound
	}
	v, err := f.Get(id)
	return listing.Snapshot{Content: &listing.Content{Vouchers: []voucher.Shown{v}}, Now: RedisNoon}, err
}

func (f FakeListings) List(_ context.Context, shopID, _ int64) (listing.Snapshot, error) {
	if f.OnList == nil {
		return listing.Snapshot{Content: &listing.Content{}, Now: RedisNoon}, nil
	}
	vs, err := f.OnList(shopID)
	return listing.Snapshot{Content: &listing.Content{Vouchers: vs, Total: int64(len(vs))}, Now: RedisNoon}, err
}

// Find shows the seckill voucher under every id.
func (f *FakeVouchers) Find(_ context.Context, id int64) (voucher.Shown, error) {
	v := SeckillVoucher()
	v.ID = id
	return v, nil
}

func (f *FakeVouchers) All(_ context.Context, q voucher.Search) (voucher.Found, error) {
	if f.OnAll == nil {
		return voucher.Found{Now: RedisNoon}, nil
	}
	found, err := f.OnAll(q)
	found.Now = RedisNoon
	return found, err
}

// CreateVoucher is the ledger's part.
func (f *FakeVouchers) CreateVoucher(_ context.Context, v *voucher.Voucher, by voucher.Author) error {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	v.ID, v.CreatedAt, v.UpdatedAt = int64(len(f.Created))+1, Noon, Noon
	f.Created, f.By = append(f.Created, *v), by
	return nil
}

func (f *FakeVouchers) Voucher(context.Context, int64) (voucher.Voucher, error) {
	return voucher.Voucher{}, voucher.ErrNotFound
}

func (f *FakeVouchers) Vouchers(context.Context, voucher.Search) ([]voucher.Voucher, int64, error) {
	return nil, 0, nil
}

func (f *FakeVouchers) Live(_ context.Context, vs []voucher.Voucher) ([]voucher.Live, time.Time, error) {
	live := make([]voucher.Live, len(vs))
	for i, v := range vs {
		live[i] = voucher.Live{State: voucher.StateOnSale, Stock: v.Sale.Stock}
	}
	return live, Noon, nil
}

func (f *FakeVouchers) Open(context.Context, int64) error { return nil }

func (f *FakeVouchers) Stored() []voucher.Voucher {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	return append([]voucher.Voucher(nil), f.Created...)
}

// FakeChanges calls its functions; without them every voucher is the seckill one. Redis applies changes at once.
type FakeChanges struct {
	OnChange   func(by voucher.Author, id int64, change voucher.Change) error
	OnAddStock func(by voucher.Author, id, delta int64, key string) error
	OnPause    func(by voucher.Author, id int64) error
	OnResume   func(by voucher.Author, id int64) error
	OnCallOff  func(by voucher.Author, id int64, why string) error
	Archive    func(by voucher.Author, id int64, archived bool) error
	Behind     bool // Redis has not applied the change yet
}

func (f FakeChanges) Shown(err error) (voucher.Shown, bool, error) {
	if err != nil {
		return voucher.Shown{}, false, err
	}
	return SeckillVoucher(), !f.Behind, nil
}

func (f FakeChanges) Change(
	_ context.Context, by voucher.Author, id int64, change voucher.Change,
) (voucher.Shown, bool, error) {
	if f.OnChange == nil {
		return f.Shown(nil)
	}
	return f.Shown(f.OnChange(by, id, change))
}

func (f FakeChanges) AddStock(
	_ context.Context, by voucher.Author, id, delta int64, key string,
) (voucher.Shown, bool, error) {
	if f.OnAddStock == nil {
		return f.Shown(nil)
	}
	return f.Shown(f.OnAddStock(by, id, delta, key))
}

func (f FakeChanges) CallOff(
	_ context.Context, by voucher.Author, id int64, why string,
) (voucher.Shown, bool, error) {
	if f.OnCallOff == nil {
		return f.Shown(nil)
	}
	return f.Shown(f.OnCallOff(by, id, why))
}

func (f FakeChanges) SetArchived(
	_ context.Context, by voucher.Author, id int64, archived bool,
) (voucher.Shown, error) {
	var err error
	if f.Archive != nil {
		err = f.Archive(by, id, archived)
	}
	v, _, err := f.Shown(err)
	return v, err
}

func (f FakeChanges) Pause(_ context.Context, by voucher.Author, id int64) (voucher.Shown, bool, error) {
	if f.OnPause == nil {
		return f.Shown(nil)
	}
	return f.Shown(f.OnPause(by, id))
}

func (f FakeChanges) Resume(_ context.Context, by voucher.Author, id int64) (voucher.Shown, bool, error) {
	if f.OnResume == nil {
		return f.Shown(nil)
	}
	return f.Shown(f.OnResume(by, id))
}
