package voucher

import (
	"errors"
	"time"

	"seckill/internal/voucher/guards"
)

// Errors of this package. Adapters wrap them around their drivers' errors with %w; httpapi maps them to answers.
var (
	// ErrNotFound: there is no voucher with this id.
	ErrNotFound = errors.New("voucher not found")
	// ErrNotSeckill: the voucher exists but is an ordinary one, which has no sale.
	ErrNotSeckill = errors.New("voucher is not a seckill voucher")
	// ErrOffShelf: the voucher was taken off the shelf.
	ErrOffShelf = errors.New("voucher is off the shelf")
	// ErrRetired: the sale is over for good and can no longer be changed.
	ErrRetired = errors.New("sale is retired")
	// ErrCalledOff: the sale was called off, and nothing undoes that.
	ErrCalledOff = errors.New("sale was called off")
	// ErrArchived: the voucher is archived, and changes only once it is restored.
	ErrArchived = errors.New("voucher is archived")
	// ErrSaleNotOver: the sale runs or is still to come, so that its voucher cannot be archived.
	ErrSaleNotOver = errors.New("sale is not over")
	// ErrOrdersWait: orders of the voucher are queued or unpaid, so that it cannot be archived yet.
	ErrOrdersWait = errors.New("orders are not decided yet")
	// ErrNoPartition: at present no partition takes a new sale. Nothing was created.
	ErrNoPartition = errors.New("no partition takes a new sale")
	// ErrOtherData: the partition chosen for the sale has data of another format or installation. Nothing was created.
	ErrOtherData = errors.New("the partition has other data")
	// ErrUndecided: Redis has not decided yet whether there are enough units. Repeating the call with the same key
	// returns the decision.
	ErrUndecided = errors.New("stock change is not decided yet")
)

// MaxID bounds voucher, shop and user ids: JavaScript reads integers exactly only below 2^53.
const MaxID int64 = 1<<53 - 1

// Kind distinguishes ordinary vouchers from seckill ones. Its numbers are the ones stored and shown as "type".
type Kind int8

// The kinds of voucher.
const (
	Ordinary Kind = 0
	Seckill  Kind = 1
)

// Status is the shelf status. Its numbers are the ones stored and shown.
type Status int8

// The shelf statuses.
const (
	OnShelf  Status = 1
	OffShelf Status = 2
	Expired  Status = 3
)

// Voucher is one row of tb_voucher, with its sale when it is a seckill voucher.
type Voucher struct {
	ID          int64
	ShopID      int64
	Title       string
	SubTitle    string
	Rules       string
	Picture     string        // its address; "" for none
	PayValue    int64         // price for the buyer, in the currency's least unit
	ActualValue int64         // value of the coupon, in the currency's least unit
	PayWithin   time.Duration // how long an order may stay unpaid; whole seconds, fixed when the voucher is created
	// ProcessingWithin is by how much that may grow while the order's money is under way; 0: by PayWithin again.
	ProcessingWithin time.Duration
	Redemption       Redemption
	VisibleFrom      time.Time // before then only admins see it; zero: always visible
	Archived         time.Time // when it was archived; zero: it is not
	// PerUser is how many units a user may have in live orders; 0: one in a sale, any number of an ordinary voucher. It
	// never changes.
	PerUser   int64
	Kind      Kind
	Status    Status
	Version   int64 // raised by every change
	CreatedAt time.Time
	UpdatedAt time.Time
	Sale      *Sale // nil for ordinary vouchers
	Rehearses int64 // for a rehearsal: the voucher whose sale is rehearsed; read only when the rehearsal is created
}

// Hidden reports whether the public does not see the voucher at the time now.
func (v Voucher) Hidden(now time.Time) bool { return now.Before(v.VisibleFrom) }

// Listed reports whether the voucher is on the shelf and not archived. Buyers cannot tell another one from none.
func (v Voucher) Listed() bool { return v.Status == OnShelf && !v.IsArchived() }

// ShownTo reports whether the voucher exists for a buyer at the time now.
func (v Voucher) ShownTo(userID int64, now time.Time) bool {
	return v.Listed() && !v.Hidden(now) && v.Admits(userID)
}

// Ended reports whether the sale is over at the time now. Redis, whose clock decides, may differ by moments.
func (s *Sale) Ended(now time.Time) bool { return !now.Before(s.End) }

// IsCalledOff reports whether the sale was called off.
func (s *Sale) IsCalledOff() bool { return !s.CalledOff.IsZero() }

// HasWaitlist reports whether the sale has a waiting list, for which units that come back may be kept.
func (s *Sale) HasWaitlist() bool { return s.InviteWindow > 0 }

// MaxQuantity returns how many units of the voucher one order of its sale may have.
func (v Voucher) MaxQuantity() int64 { return max(1, v.PerUser) }

// Sale is a seckill voucher's sale in the ledger: one row of tb_seckill_voucher.
type Sale struct {
	Stock         int64 // units without a live order, as recorded; Redis is ahead of it while orders wait
	Kept          int64 // units kept for the waiting list: neither on sale nor in an order
	Accepted      int64 // of the kept units, those of acceptances that Redis has not decided
	ListOpen      bool  // units that come back are kept for the waiting list
	Issued        int64 // units issued in all: Stock + Kept + units of live orders
	Begin         time.Time
	End           time.Time        // exclusive
	Paused        bool             // paused by an admin
	Epoch         int64            // raised by every rebuild; a Redis that answers with less has lost its state
	FirstEpoch    int64            // the epoch that first opened it; 0: it was never open; above Epoch: it was purged
	Sequence      int64            // highest recorded admission sequence of Epoch
	Partition     int              // the partition whose stream has its orders; stored, never computed again
	Retired       bool             // Redis no longer holds it: it ended a day ago and all its orders are recorded
	CalledOff     time.Time        // when it was called off; zero: it was not. Set once
	LastOperation int64            // number of the last operation; 0 before the first
	LastIdentity  int64            // of that operation; 0: none, or not read
	Guards        *guards.Settings // nil: none
	InviteWindow  time.Duration    // how long an invitation of its waiting list stands; 0: no list. It never changes
}

// SaleState is the state of a sale as buyers see it.
type SaleState string

// The states of a sale, in the order in which they are decided.
const (
	// StatePreparing: Redis does not hold the sale (yet); it is being built from the ledger.
	StatePreparing SaleState = "preparing"
	// StateCalledOff: called off; it never sells again.
	StateCalledOff SaleState = "called_off"
	// StateOffShelf: the voucher was taken off the shelf.
	StateOffShelf SaleState = "off_shelf"
	// StatePaused: paused by an admin, or while the sale is rebuilt.
	StatePaused SaleState = "paused"
	// StateNotStarted: before its begin, by Redis's clock.
	StateNotStarted SaleState = "not_started"
	// StateEnded: at or after its end, by Redis's clock.
	StateEnded SaleState = "ended"
	// StateSoldOut: no unit is left.
	StateSoldOut SaleState = "sold_out"
	// StateOnSale: units can be bought.
	StateOnSale SaleState = "on_sale"
)

// Live is the state of one sale in Redis at one moment.
type Live struct {
	State SaleState
	Stock int64 // units left to sell
	Stale bool  // Redis did not answer just now; shown to admins
	// Missing: Redis does not hold the sale, or it is being rebuilt. Orders may wait that Stock does not count.
	Missing bool
}

// Shown is a voucher for display: the ledger's texts and price, and the live state of its sale.
type Shown struct {
	Voucher
	Live *Live // nil for ordinary vouchers
}

// Purged reports whether the orders of the sale were deleted, or are being deleted. It then admits nobody, and whatever
// Redis or a backup still has of it is of an earlier epoch than its first.
func (s *Sale) Purged() bool { return s.FirstEpoch > s.Epoch }

// final returns why the sale can no longer be changed: ErrRetired, ErrCalledOff, or nil.
func (s *Sale) final() error {
	switch {
	case s.IsCalledOff():
		return ErrCalledOff
	case s.Retired:
		return ErrRetired
	default:
		return nil
	}
}

// OverState returns the state of a sale that is over for good.
func (s *Sale) OverState() SaleState {
	if s.IsCalledOff() {
		return StateCalledOff
	}
	return StateEnded
}

// Selling returns the vouchers among vs whose sale Redis must hold.
func Selling(vs []Voucher) []Voucher {
	var selling []Voucher
	for _, v := range vs {
		if v.Sale != nil && !v.Sale.Retired {
			selling = append(selling, v)
		}
	}
	return selling
}

// Show joins vouchers with their live state. live has the states of the [Selling] vouchers, in order. If it is nil, the
// state is unknown: all are shown as preparing, with the ledger's stock.
func Show(vs []Voucher, live []Live) []Shown {
	shown := make([]Shown, len(vs))
	next := 0
	for i, v := range vs {
		shown[i].Voucher = v
		switch {
		case v.Sale == nil:
		case v.Sale.Retired:
			shown[i].Live = &Live{State: v.Sale.OverState(), Stock: v.Sale.Stock}
		case live == nil:
			shown[i].Live = &Live{State: StatePreparing, Stock: v.Sale.Stock, Stale: true}
		default:
			l := live[next]
			if l.State == StatePreparing {
				l.Stock = v.Sale.Stock
			}
			shown[i].Live = &l
			next++
		}
	}
	return shown
}

const (
	// FirstAccount is the lowest id of the users who sign in by an identity provider.
	FirstAccount int64 = 1 << 52
	// LastAccount is the highest of their ids.
	LastAccount = FirstRehearsalUser - 1
	// RehearsalShop is the shop of all rehearsals and of nothing else, so it marks a voucher as a rehearsal.
	RehearsalShop int64 = 8_000_000_000_000_000
	// FirstRehearsalUser is the lowest id of the users who may buy in a rehearsal. loadgen takes its users from there
	// on.
	FirstRehearsalUser int64 = 8_000_000_000_000_000
	// FirstForgotten is the lowest of the numbers that the rows of forgotten people have. They go up to MaxID. Nobody
	// signs in with one.
	FirstForgotten int64 = 9_000_000_000_000_000
)

// Rehearsal reports whether the voucher rehearses the sale of another.
func (v Voucher) Rehearsal() bool { return v.ShopID == RehearsalShop }

// Admits reports whether the user may know of the voucher: only made-up users buy in a rehearsal.
func (v Voucher) Admits(userID int64) bool { return !v.Rehearsal() || userID >= FirstRehearsalUser }
