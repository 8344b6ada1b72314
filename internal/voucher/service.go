package voucher

import (
	"context"
	"time"
)

// Ledger keeps the vouchers: MySQL, or SQLite in the embedded mode.
type Ledger interface {
	// CreateVoucher stores v, with both rows in one transaction when v.Sale is set, and an [Entry] of who created it.
	// It fills in ID, Version, Epoch and the times.
	CreateVoucher(ctx context.Context, v *Voucher, by Author) error
	// Voucher returns one voucher with its sale, or ErrNotFound.
	Voucher(ctx context.Context, id int64) (Voucher, error)
	// Vouchers returns vouchers on and off the shelf, newest first, and next as Found has it: a search by title may
	// end before the page is full.
	Vouchers(ctx context.Context, q Search) (vs []Voucher, next int64, err error)
}

// Sales reads the live state of sales: Redis.
type Sales interface {
	// Live returns the state of each sale, in the order asked, and the time by Redis's clock, in few round trips.
	Live(ctx context.Context, vs []Voucher) ([]Live, time.Time, error)
}

// Opener puts a sale into Redis: recovery.Reconciler, in the same way as it rebuilds a lost one.
type Opener interface {
	// Open builds the sale of a seckill voucher from the ledger. It is safe to repeat.
	Open(ctx context.Context, voucherID int64) error
}

// Lists are what all instances show to the public: listing.Listings.
type Lists interface {
	// Changed has them show v's shop as it is now, at most some seconds later.
	Changed(ctx context.Context, v Voucher)
}

// Placer chooses where a new sale is: partition.Placer.
type Placer interface {
	// Place returns the partition of a new sale: the wanted one, or with nil one of its choice. *invalid.Error for
	// one that takes no sales, and ErrNoPartition, wrapped, when it or every one takes none just now; ErrOtherData
	// likewise.
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
}

// NewService returns a service; now is the clock for whether an end is in the past, and for the server time that is
// shown while Redis is away. Without a placer there is one partition.
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
// succeeds: when Redis cannot be reached then, the sale is shown as preparing and the reconciler opens it.
// ErrNoPartition says that there is no place for it just now.
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
// takes no new sales, it chooses another one: the other sale may have ended long ago.
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

// place returns the partition of a new sale.
func (s *Service) place(ctx context.Context, wanted *int64) (int, error) {
	if s.placer == nil {
		return 0, nil
	}
	return s.placer.Place(ctx, wanted)
}

// beside returns the partition of a new sale like the given one: the same, or another one if that takes no new sales.
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
	// A failure here is not the caller's: the reconciler finds the sale missing within seconds and tries again. The
	// live state shows whether it is open.
	opening, cancel := context.WithTimeout(ctx, openTime)
	_ = s.opener.Open(opening, v.ID)
	cancel()
	s.lists.Changed(ctx, v)
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

// show adds the live state. While Redis is away nothing can be bought, but what is for sale can still be read.
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
