package voucher

import (
	"context"
	"time"
)

// Ledger keeps the vouchers: MySQL, or SQLite in the embedded mode.
type Ledger interface {
	// CreateVoucher stores v, with both rows in one transaction when v.Sale is set, and an [Entry] of who created it. It
	// fills in ID, Version, Epoch and the times.
	CreateVoucher(ctx context.Context, v *Voucher, by Author) error
	// Voucher returns one voucher with its sale, or ErrNotFound.
	Voucher(ctx context.Context, id int64) (Voucher, error)
	// VouchersOfShop returns the vouchers of a shop that are on the shelf, newest first, at most limit of them, and
	// how many there are in all.
	VouchersOfShop(ctx context.Context, shopID int64, limit int) ([]Voucher, int64, error)
	// Vouchers returns vouchers on and off the shelf with an id below before, of one shop or with shopID 0 of all, newest
	// first, at most limit.
	Vouchers(ctx context.Context, shopID, before int64, limit int) ([]Voucher, error)
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

// MaxListed is how many vouchers of a shop a list shows at most.
const MaxListed = 500

// openTime is how long the answer to a creation waits for the sale to be open in Redis.
const openTime = 3 * time.Second

// Service creates, changes and shows vouchers.
type Service struct {
	ledger  Ledger
	sales   Sales
	opener  Opener
	changes Changes
	outbox  Outbox
	now     func() time.Time
}

// NewService returns a service; now is the clock for whether an end is in the past, and for the server time that is shown
// while Redis is away.
func NewService(ledger Ledger, sales Sales, opener Opener, changes Changes, outbox Outbox, now func() time.Time) *Service {
	return &Service{ledger: ledger, sales: sales, opener: opener, changes: changes, outbox: outbox, now: now}
}

// CreateOrdinary creates an ordinary voucher. It returns *invalid.Error for a draft that breaks a rule.
func (s *Service) CreateOrdinary(ctx context.Context, by Author, d Draft) (Shown, error) {
	var r fieldRules
	v := d.check(&r, s.now())
	if err := r.err(); err != nil {
		return Shown{}, err
	}
	if err := s.ledger.CreateVoucher(ctx, &v, by); err != nil {
		return Shown{}, err
	}
	return Shown{Voucher: v}, nil
}

// CreateSeckill creates a voucher with its sale. Once the ledger has committed, the voucher exists and the call
// succeeds: when Redis cannot be reached then, the sale is shown as preparing and the reconciler opens it.
func (s *Service) CreateSeckill(ctx context.Context, by Author, d Draft, sd SaleDraft) (Shown, error) {
	var r fieldRules
	v := d.check(&r, s.now())
	sale := sd.check(&r, s.now())
	r.usable(v.Redemption, sale.End)
	if err := r.err(); err != nil {
		return Shown{}, err
	}
	v.Kind, v.Sale = Seckill, &sale
	if err := s.ledger.CreateVoucher(ctx, &v, by); err != nil {
		return Shown{}, err
	}
	// A failure here is not the caller's: the reconciler finds the sale missing within seconds and tries again. The live
	// state shows whether it is open.
	opening, cancel := context.WithTimeout(ctx, openTime)
	_ = s.opener.Open(opening, v.ID)
	cancel()
	return s.showOne(ctx, v)
}

// Get returns one voucher as it is shown, with the server's time, or ErrNotFound.
func (s *Service) Get(ctx context.Context, id int64) (Shown, time.Time, error) {
	v, err := s.ledger.Voucher(ctx, id)
	if err != nil {
		return Shown{}, time.Time{}, err
	}
	shown, now, err := s.show(ctx, []Voucher{v})
	if err != nil {
		return Shown{}, time.Time{}, err
	}
	return shown[0], now, nil
}

// List returns the vouchers of a shop that are on the shelf, newest first, at most MaxListed, with how many there
// are in all and the server's time. A shop without vouchers has an empty list.
func (s *Service) List(ctx context.Context, shopID int64) ([]Shown, int64, time.Time, error) {
	vs, total, err := s.ledger.VouchersOfShop(ctx, shopID, MaxListed)
	if err != nil {
		return nil, 0, time.Time{}, err
	}
	shown, now, err := s.show(ctx, vs)
	return shown, total, now, err
}

// All returns vouchers on and off the shelf with an id below before, of one shop or with shopID 0 of all, newest first, at
// most limit, and the server's time: for admins.
func (s *Service) All(ctx context.Context, shopID, before int64, limit int) ([]Shown, time.Time, error) {
	vs, err := s.ledger.Vouchers(ctx, shopID, before, limit)
	if err != nil {
		return nil, time.Time{}, err
	}
	return s.show(ctx, vs)
}

// show adds the live state. While Redis is away nothing can be bought, but what is for sale can still be read: the
// sales then show as preparing, with the ledger's stock.
func (s *Service) show(ctx context.Context, vs []Voucher) ([]Shown, time.Time, error) {
	var selling []Voucher
	for _, v := range vs {
		if v.Sale != nil && !v.Sale.Retired {
			selling = append(selling, v)
		}
	}
	now := s.now()
	var live []Live
	if len(selling) > 0 {
		var err error
		var redisNow time.Time
		if live, redisNow, err = s.sales.Live(ctx, selling); err != nil {
			if ctx.Err() != nil {
				return nil, time.Time{}, ctx.Err()
			}
			live = nil
		} else {
			now = redisNow
		}
	}
	shown := make([]Shown, len(vs))
	next := 0
	for i, v := range vs {
		shown[i].Voucher = v
		switch {
		case v.Sale == nil:
		case v.Sale.Retired:
			shown[i].Live = &Live{State: StateEnded, Stock: v.Sale.Stock}
		case live == nil:
			shown[i].Live = &Live{State: StatePreparing, Stock: v.Sale.Stock}
		default:
			l := live[next]
			if l.State == StatePreparing {
				l.Stock = v.Sale.Stock
			}
			shown[i].Live = &l
			next++
		}
	}
	return shown, now, nil
}
