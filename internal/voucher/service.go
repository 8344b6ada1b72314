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

// Sales reads the live state of sales: Redis.
type Sales interface {
	// Live returns the state of each sale, in the order asked, and the time by Redis's clock, in few round trips.
	Live(ctx context.Context, vs []Voucher) ([]Live, time.Time, error)
}

// Opener puts a sale into Redis: recovery.Reconciler, which builds it like a lost one.
type Opener interface {
	// Open builds the sale of a seckill voucher from the ledger. It is safe to repeat.
	Open(ctx context.Context, voucherID int64) error
}

// Lists show vouchers to the public, on all instances: listing.Listings.
type Lists interface {
	// Changed makes the lists show the present vouchers of v's shop, at most some seconds later.
	Changed(ctx context.Context, v Voucher)
}

// Placer chooses the partition of a new sale: partition.Placer.
type Placer interface {
	// Place returns the partition of a new sale: the wanted one, or one of its choice for nil. It returns
	// *invalid.Error if the wanted partition never takes sales; ErrNoPartition, wrapped, if at present the wanted
	// partition, or with nil every partition, takes none; or ErrOtherData if the partition has other data.
	Place(ctx context.Context, wanted *int64) (int, error)
}

// openTime is how long the answer to a creation waits for the sale to be open in Redis.
const openTime = 3 * time.Second

// Service creates, changes and shows vouchers.
type Service struct {
	ledger  Ledger
	sales   Sales
	opener  Opener
	changes Changes
	outbox  Outbox
	lists   Lists
	placer  Placer
	now     func() time.Time
	shops   Shops // nil without Bound
	bounds  Bounds
}

// NewService returns a service. now is its clock: it decides whether an end is in the past, and stands in for Redis's
// clock while Redis is away. Without a placer there is one partition.
func NewService(
	ledger Ledger, sales Sales, opener Opener, changes Changes, outbox Outbox, lists Lists,
	placer Placer, now func() time.Time,
) *Service {
	return &Service{
		ledger: ledger, sales: sales, opener: opener, changes: changes, outbox: outbox, lists: lists,
		placer: placer, now: now,
	}
}

// CreateOrdinary creates an ordinary voucher. It returns *invalid.Error for a draft that breaks a rule.
func (s *Service) CreateOrdinary(ctx context.Context, by Author, d Draft) (Shown, error) {
	var r fieldRules
	v := d.check(&r, s.now())
	r.Number("perUser", d.PerUser, 0, MaxPerUser)
	v.PerUser = d.PerUser
	if err := r.Err(); err != nil {
		return Shown{}, err
	}
	if err := s.ledger.CreateVoucher(ctx, &v, by); err != nil {
		return Shown{}, err
	}
	s.lists.Changed(ctx, v)
	return Shown{Voucher: v}, nil
}

// CreateSeckill creates a voucher with its sale. Once the ledger has committed, the voucher exists and the call
// succeeds. If Redis cannot be reached then, the sale is shown as preparing, and the reconciler opens it.
// ErrNoPartition says that no partition takes the sale at present.
func (s *Service) CreateSeckill(ctx context.Context, by Author, d Draft, sd SaleDraft) (Shown, error) {
	var r fieldRules
	v := d.check(&r, s.now())
	sale := sd.check(&r, s.now())
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
	partition, err := s.beside(ctx, other)
	if err != nil {
		return Shown{}, err
	}
	sale := *v.Sale
	sale.Begin, sale.End, sale.Partition = instant(sale.Begin), instant(sale.End), partition
	v.Sale = &sale
	return s.open(ctx, by, v)
}

// place chooses the partition of a new sale.
func (s *Service) place(ctx context.Context, wanted *int64) (int, error) {
	if s.placer == nil {
		return 0, nil
	}
	return s.placer.Place(ctx, wanted)
}

// beside returns the partition of the given sale, or another partition if that one takes no new sales.
func (s *Service) beside(ctx context.Context, sale *Sale) (int, error) {
	wanted := int64(sale.Partition)
	if n, err := s.place(ctx, &wanted); err == nil {
		return n, nil
	}
	return s.place(ctx, nil)
}

// open stores a seckill voucher and opens its sale.
func (s *Service) open(ctx context.Context, by Author, v Voucher) (Shown, error) {
	if err := s.ledger.CreateVoucher(ctx, &v, by); err != nil {
		return Shown{}, err
	}
	// A failure here is not returned: within seconds the reconciler finds the sale missing and retries. The live state
	// shows whether it is open.
	opening, cancel := context.WithTimeout(ctx, openTime)
	_ = s.opener.Open(opening, v.ID)
	cancel()
	s.lists.Changed(ctx, v)
	return s.showOne(ctx, v)
}

// Find returns a voucher, on or off the shelf: for admins. Error: ErrNotFound.
func (s *Service) Find(ctx context.Context, id int64) (Shown, error) {
	v, err := s.ledger.Voucher(ctx, id)
	if err != nil {
		return Shown{}, err
	}
	return s.showOne(ctx, v)
}

// All returns a page of vouchers on and off the shelf, newest first: for admins.
func (s *Service) All(ctx context.Context, q Search) (Found, error) {
	vs, next, err := s.ledger.Vouchers(ctx, q)
	if err != nil {
		return Found{}, err
	}
	shown, now, err := s.show(ctx, vs)
	return Found{Vouchers: shown, Next: next, Now: now}, err
}

// show adds the live state. While Redis is away nobody can buy, but vouchers can still be read.
func (s *Service) show(ctx context.Context, vs []Voucher) ([]Shown, time.Time, error) {
	now := s.now()
	selling := Selling(vs)
	if len(selling) == 0 {
		return Show(vs, nil), now, nil
	}
	live, redisNow, err := s.sales.Live(ctx, selling)
	switch {
	case err == nil:
		return Show(vs, live), redisNow, nil
	case ctx.Err() != nil:
		return nil, time.Time{}, ctx.Err()
	default:
		return Show(vs, nil), now, nil
	}
}
