package voucher

import (
	"context"
	"time"
)

// Ledger keeps the vouchers: MySQL, or SQLite in the embedded mode.
type Ledger interface {
	// CreateVoucher stores v and an [Entry] of its creation; both rows in one transaction when v.Sale is set. It fills
	// in ID, Version, Epoch and the times. It returns *idempotency.RepeatedError or idempotency.ErrReused if the
	// author's key was used before.
	CreateVoucher(ctx context.Context, v *Voucher, by Author) error
	// Voucher returns one voucher with its sale, or ErrNotFound.
	Voucher(ctx context.Context, id int64) (Voucher, error)
	// Vouchers returns vouchers on and off the shelf, newest first, and next as in Found: a search by title may end
	// before the page is full.
	Vouchers(ctx context.Context, q Search) (vs []Voucher, next int64, err error)
}

// openTime is how long the answer to a creation waits for the sale to be open in Redis.
const openTime = 3 * time.Second

// Service creates, changes and shows vouchers.
type Service struct{ parts Parts }

// Parts are what a Service works with.
type Parts struct {
	Ledger  Ledger
	Changes Changes
	Outbox  Outbox
	// Changed makes the public's lists show the present vouchers of v's shop on all instances, at most some seconds
	// later (listing.Listings).
	Changed func(ctx context.Context, v Voucher)
	// Live returns the state of each sale in Redis, in the order asked, and the time by Redis's clock, in few round
	// trips.
	Live func(ctx context.Context, vs []Voucher) ([]Live, time.Time, error)
	// Open puts a sale into Redis, built from the ledger like a lost one (recovery.Reconciler). It is safe to repeat.
	Open func(ctx context.Context, voucherID int64) error
	// Place returns the partition of a new sale: the wanted one, or one of its choice for nil. *invalid.Error if the
	// wanted one never takes sales; ErrNoPartition, wrapped, if it, or every one, takes none at present; ErrOtherData
	// if it has other data. Without Place there is one partition.
	Place func(ctx context.Context, wanted *int64) (int, error)
	// Bounds hold merchants. OpenSales returns how many sales of a shop have not ended; order.ErrUnavailable.
	Bounds    Bounds
	BoundsOf  func(ctx context.Context, shopID int64) (Bounds, error) // see BoundBy; nil: shops have none of their own
	OpenSales func(ctx context.Context, shopID int64) (int64, error)
	// Now decides whether an end is in the past, and is shown while Redis is away.
	Now func() time.Time
}

// NewService returns a service.
func NewService(parts Parts) *Service { return &Service{parts: parts} }

// CreateOrdinary creates an ordinary voucher. It returns *invalid.Error for a draft that breaks a rule.
func (s *Service) CreateOrdinary(ctx context.Context, by Author, d Draft) (Shown, error) {
	var r fieldRules
	v := d.check(&r, s.parts.Now())
	r.Number("perUser", d.PerUser, 0, MaxPerUser)
	v.PerUser = d.PerUser
	if err := r.Err(); err != nil {
		return Shown{}, err
	}
	if err := s.parts.Ledger.CreateVoucher(ctx, &v, by); err != nil {
		return Shown{}, err
	}
	s.parts.Changed(ctx, v)
	return Shown{Voucher: v}, nil
}

// CreateSeckill creates a voucher with its sale. Once the ledger has committed, the voucher exists and the call
// succeeds. If Redis cannot be reached then, the sale is shown as preparing, and the reconciler opens it.
// ErrNoPartition says that no partition takes the sale at present.
func (s *Service) CreateSeckill(ctx context.Context, by Author, d Draft, sd SaleDraft) (Shown, error) {
	var r fieldRules
	v := d.check(&r, s.parts.Now())
	sale := sd.check(&r, s.parts.Now())
	r.Number("perUser", d.PerUser, 1, MaxPerUser)
	r.usable(v.Redemption, sale.End)
	r.inTime(v.VisibleFrom, sale.Begin)
	if err := r.Err(); err != nil {
		return Shown{}, err
	}
	if err := s.admits(ctx, by, sale.Stock); err != nil {
		return Shown{}, err
	}
	v.Kind, v.Sale = Seckill, &sale
	if d.PerUser > 1 {
		v.PerUser = d.PerUser
	}
	var err error
	if sale.Partition, err = s.place(ctx, sd.Partition); err != nil {
		return Shown{}, err
	}
	return s.open(ctx, by, v)
}

// CreateBeside creates a seckill voucher, which it does not check, in the partition of another sale. If that partition
// takes no new sales, it chooses another partition: the other sale may have ended long ago.
func (s *Service) CreateBeside(ctx context.Context, by Author, v Voucher, other *Sale) (Shown, error) {
	wanted := int64(other.Partition)
	partition, err := s.place(ctx, &wanted)
	if err != nil { // it takes no new sales
		partition, err = s.place(ctx, nil)
	}
	if err != nil {
		return Shown{}, err
	}
	sale := *v.Sale
	sale.Begin, sale.End, sale.Partition = instant(sale.Begin), instant(sale.End), partition
	v.Sale = &sale
	return s.open(ctx, by, v)
}

func (s *Service) place(ctx context.Context, wanted *int64) (int, error) {
	if s.parts.Place == nil {
		return 0, nil
	}
	return s.parts.Place(ctx, wanted)
}

// open stores a seckill voucher and opens its sale.
func (s *Service) open(ctx context.Context, by Author, v Voucher) (Shown, error) {
	if err := s.parts.Ledger.CreateVoucher(ctx, &v, by); err != nil {
		return Shown{}, err
	}
	// A failure here is not returned: within seconds the reconciler finds the sale missing and retries. The live state
	// shows whether it is open.
	opening, cancel := context.WithTimeout(ctx, openTime)
	_ = s.parts.Open(opening, v.ID)
	cancel()
	s.parts.Changed(ctx, v)
	return s.showOne(ctx, v)
}

// Find returns a voucher, on or off the shelf: for admins. Error: ErrNotFound.
func (s *Service) Find(ctx context.Context, id int64) (Shown, error) {
	v, err := s.parts.Ledger.Voucher(ctx, id)
	if err != nil {
		return Shown{}, err
	}
	return s.showOne(ctx, v)
}

// All returns a page of vouchers on and off the shelf, newest first: for admins.
func (s *Service) All(ctx context.Context, q Search) (Found, error) {
	vs, next, err := s.parts.Ledger.Vouchers(ctx, q)
	if err != nil {
		return Found{}, err
	}
	shown, now, err := s.show(ctx, vs)
	return Found{Vouchers: shown, Next: next, Now: now}, err
}

// show adds the live state. While Redis is away nobody can buy, but vouchers can still be read.
func (s *Service) show(ctx context.Context, vs []Voucher) ([]Shown, time.Time, error) {
	now := s.parts.Now()
	selling := Selling(vs)
	if len(selling) == 0 {
		return Show(vs, nil), now, nil
	}
	live, redisNow, err := s.parts.Live(ctx, selling)
	switch {
	case err == nil:
		return Show(vs, live), redisNow, nil
	case ctx.Err() != nil:
		return nil, time.Time{}, ctx.Err()
	default:
		return Show(vs, nil), now, nil
	}
}

// ArchiveFilter says whether a list has archived vouchers: one of the constants, which are words of requests.
type ArchiveFilter string

// The filters.
const (
	NoArchived   ArchiveFilter = ""
	WithArchived ArchiveFilter = "true"
	OnlyArchived ArchiveFilter = "only"
)

// Search says which vouchers an admin asks for.
type Search struct {
	ShopID   int64  // only this shop's; 0: all except the shop of rehearsals
	Title    string // only those whose title contains it, regardless of case; "": any
	Archived ArchiveFilter
	Before   int64 // only those with a lower id
	Limit    int   // most vouchers returned
	Compared int   // most titles compared; 0: 10,000
}

// Found is a page of the results of a [Search].
type Found struct {
	Vouchers []Shown
	Next     int64 // Before of the next page; 0: there is none
	Now      time.Time
}
