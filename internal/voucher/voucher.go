package voucher

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"seckill/internal/guard"
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
	// ErrKeyReused: the idempotency key was used before, with another delta.
	ErrKeyReused = errors.New("idempotency key was used with another delta")
	// ErrOldInstances: an instance is running of a version that does not know what is asked for: orders of several units, rehearsals, or
	// split sales.
	ErrOldInstances = errors.New("an instance of an older version is running")
	// ErrNoPartition: there is no partition just now in which a new sale may be. Nothing was created.
	ErrNoPartition = errors.New("no partition takes a new sale")
	// ErrUndecided: Redis has not decided yet whether there are enough units. Repeating with the same key tells.
	ErrUndecided = errors.New("stock change is not decided yet")
)

// MaxID bounds voucher, shop and user ids: JavaScript reads integers exactly only below 2^53.
const MaxID int64 = 1<<53 - 1

// MaxShares is how many shares a sale may be split into.
const MaxShares = 16

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
	PayValue    int64         // what the buyer pays, in cents
	ActualValue int64         // what it is worth, in cents
	PayWithin   time.Duration // how long an order may stay unpaid; whole seconds, fixed when the voucher is created
	Redemption  Redemption
	VisibleFrom time.Time // before then only admins see it; zero: always visible
	PerUser     int64     // units that a user may have in live orders; 0: one in a sale, any number of an ordinary voucher. It never changes
	Kind        Kind
	Status      Status
	Version     int64 // raised by every change
	CreatedAt   time.Time
	UpdatedAt   time.Time
	Sale        *Sale // nil for ordinary vouchers
	Rehearses   int64 // of a rehearsal that is being created: whose sale it rehearses; it is not read again
}

// Hidden reports whether the public does not see the voucher at the time now.
func (v Voucher) Hidden(now time.Time) bool { return now.Before(v.VisibleFrom) }

// HasWaitlist reports whether units that come back are offered to those who wait for them.
func (s *Sale) HasWaitlist() bool { return s.OfferWithin > 0 }

// MaxQuantity returns how many units of the voucher one order of its sale may have.
func (v Voucher) MaxQuantity() int64 { return max(1, v.PerUser) }

// Sale is a seckill voucher's sale in the ledger: one row of tb_seckill_voucher, or of a split sale one for each share.
type Sale struct {
	Stock         int64 // units without a live order, as recorded; Redis is ahead of it while orders wait
	Offered       int64 // units kept for offers of the waiting list
	Issued        int64 // units issued in all: Stock + Offered + live orders
	Begin         time.Time
	End           time.Time       // exclusive
	Paused        bool            // paused by an admin
	Epoch         int64           // raised by every rebuild; a Redis that answers with less has lost its state
	Sequence      int64           // highest admission sequence recorded within Epoch
	Partition     int             // which stream its orders go to; stored, never computed again
	Retired       bool            // a day after its end and drained: Redis no longer holds it
	LastOperation int64           // number of the last operation; 0 before the first
	MovedIn       int64           // units that came from other shares
	MovedOut      int64           // units that went to other shares
	Guards        *guard.Settings // nil: none
	Share         int             // which share of a split sale these are the numbers of; 0 too for all of them together
	SplitIn       int             // how many shares it was split into when it was created; 0: it was not. It never changes
	Shares        []Share         // of a split sale, by number, with the sums above; nil where the numbers are one share's
	OfferWithin   time.Duration   // how long an offer of its waiting list stands; 0: it has no list. It never changes
}

// Share is one share of a split sale in the ledger: a row of tb_seckill_voucher of its own. What it does not have, all shares have
// in common.
type Share struct {
	Stock, Offered, Issued int64
	Epoch, Sequence        int64
	Partition              int
	Retired                bool
	LastOperation          int64
	MovedIn, MovedOut      int64 // units that came from other shares, and went to them
}

// Split reports whether the sale has several shares.
func (s *Sale) Split() bool { return s.SplitIn > 1 }

// place puts a new sale into partitions: a share into each, the units level over them, or the whole of it where there is one.
func (s *Sale) place(partitions []int) {
	s.Partition = partitions[0]
	if len(partitions) == 1 {
		return
	}
	s.SplitIn, s.Shares = len(partitions), make([]Share, len(partitions))
	for i, units := range Level(make([]int64, len(partitions)), s.Stock) {
		s.Shares[i] = Share{Stock: units, Issued: units, Partition: partitions[i]}
	}
}

// partitions returns where the sale is, for each of its shares.
func (s *Sale) partitions() []int {
	if s.Shares == nil {
		return []int{s.Partition}
	}
	partitions := make([]int, len(s.Shares))
	for i, share := range s.Shares {
		partitions[i] = share.Partition
	}
	return partitions
}

// At returns the numbers of one share; of a sale that has no other, its own.
func (s *Sale) At(number int) Share {
	if s.Shares != nil {
		return s.Shares[number]
	}
	return Share{
		Stock: s.Stock, Offered: s.Offered, Issued: s.Issued, Epoch: s.Epoch, Sequence: s.Sequence, Partition: s.Partition,
		Retired: s.Retired, LastOperation: s.LastOperation, MovedIn: s.MovedIn, MovedOut: s.MovedOut,
	}
}

// OfShare returns the voucher with the numbers of one share of its sale; itself, where it has no other; without a sale, where it
// has no such share: the number may come from a name that somebody wrote by hand.
func (v Voucher) OfShare(number int) Voucher {
	switch {
	case v.Sale == nil:
		return v
	case v.Sale.Shares == nil && number == v.Sale.Share:
		return v
	case number < 0 || number >= len(v.Sale.Shares):
		v.Sale = nil
		return v
	}
	share, sale := v.Sale.Shares[number], *v.Sale
	sale.Share, sale.Shares = number, nil
	sale.Stock, sale.Offered, sale.Issued = share.Stock, share.Offered, share.Issued
	sale.Epoch, sale.Sequence, sale.Partition = share.Epoch, share.Sequence, share.Partition
	sale.Retired, sale.LastOperation = share.Retired, share.LastOperation
	sale.MovedIn, sale.MovedOut = share.MovedIn, share.MovedOut
	v.Sale = &sale
	return v
}

// Whole returns the voucher with its sale, given each share as [Voucher.OfShare] returns it, in order: the sums of their numbers, and
// retired once all are.
func Whole(shares []Voucher) Voucher {
	whole := shares[0]
	if len(shares) == 1 && !whole.Sale.Split() {
		return whole
	}
	sale := *whole.Sale
	sale.Shares = make([]Share, len(shares))
	sale.Share, sale.Stock, sale.Offered, sale.Issued, sale.MovedIn, sale.MovedOut, sale.Retired = 0, 0, 0, 0, 0, 0, true
	for i, v := range shares {
		s := v.Sale.At(0)
		sale.Shares[i] = s
		sale.Stock, sale.Offered, sale.Issued = sale.Stock+s.Stock, sale.Offered+s.Offered, sale.Issued+s.Issued
		sale.MovedIn, sale.MovedOut = sale.MovedIn+s.MovedIn, sale.MovedOut+s.MovedOut
		sale.Retired = sale.Retired && s.Retired
	}
	whole.Sale = &sale
	return whole
}

// Level distributes units over shares that have so many: to each what brings it nearest to what all of them then have.
func Level(stocks []int64, units int64) []int64 {
	shares := make([]int, len(stocks))
	for i := range shares {
		shares[i] = i
	}
	slices.SortStableFunc(shares, func(a, b int) int { return cmp.Compare(stocks[a], stocks[b]) })
	given := make([]int64, len(stocks))
	for i := range shares { // the i+1 shares that have least have as many by now
		room, level := int64(i+1), int64(0)
		if i+1 < len(shares) {
			level = stocks[shares[i+1]] - stocks[shares[i]]
		}
		if i+1 == len(shares) || level > units/room {
			for n, share := range shares[:i+1] {
				given[share] += units / room
				if int64(n) < units%room {
					given[share]++
				}
			}
			break
		}
		for _, share := range shares[:i+1] {
			given[share] += level
		}
		units -= level * room
	}
	return given
}

// SaleState is the state of a sale as buyers see it.
type SaleState string

// The states of a sale, in the order in which they are decided.
const (
	// StatePreparing: Redis does not hold the sale (yet); it is being built from the ledger.
	StatePreparing SaleState = "preparing"
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
	// StateOnSale: units are sold.
	StateOnSale SaleState = "on_sale"
)

// Live is the state of one sale in Redis at one moment.
type Live struct {
	State SaleState
	Stock int64 // units left to sell
	Stale bool  // Redis did not say so just now; shown to admins
}

// Shown is a voucher as it is shown: the ledger's text and price with the live state of its sale.
type Shown struct {
	Voucher
	Live *Live // nil for ordinary vouchers
}

// Selling returns those of the vouchers whose sale Redis is to hold.
func Selling(vs []Voucher) []Voucher {
	var selling []Voucher
	for _, v := range vs {
		if v.Sale != nil && !v.Sale.Retired {
			selling = append(selling, v)
		}
	}
	return selling
}

// Show returns vouchers as they are shown. live is the state of those that are [Selling], in order; nil while it is not
// known: they are then shown as preparing, with the ledger's stock.
func Show(vs []Voucher, live []Live) []Shown {
	shown := make([]Shown, len(vs))
	next := 0
	for i, v := range vs {
		shown[i].Voucher = v
		switch {
		case v.Sale == nil:
		case v.Sale.Retired:
			shown[i].Live = &Live{State: StateEnded, Stock: v.Sale.Stock}
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
