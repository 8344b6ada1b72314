package journal

import (
	"encoding/binary"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"seckill/internal/order"
)

// salesTogether is for how many times the users of one sale an instance has room in all sales together.
const salesTogether = 4

// Refusal is a user's first final refusal in a sale, as one instance noted it.
type Refusal struct {
	VoucherID, UserID int64
	Run               int64         // of the sale's memory that noted it
	At                time.Time     // by Redis's clock, as the instance estimated it, in milliseconds
	Within            time.Duration // by how much At may be too early
	Code              string        // of the answer
}

// Clock is feature.Sales.Clock.
type Clock func(voucherID int64) (now time.Time, within time.Duration, ok bool)

// Journal is what an instance remembers of all sales. It is safe for concurrent use.
type Journal struct {
	most  int64 // users of a sale
	clock Clock
	users atomic.Int64 // of all sales
	sales sync.Map     // voucher id → *sale
}

// NewJournal returns an empty journal that remembers at most that many users of each sale.
func NewJournal(most int64, clock Clock) *Journal { return &Journal{most: most, clock: clock} }

// Refused notes that a user's request for a unit was refused with a code, unless the code is not final or the user was
// refused before. address returns the user's address. It asks no store.
func (j *Journal) Refused(voucherID, userID int64, code string, address func() netip.Addr) {
	c, final := codeOf(code)
	if !final {
		return
	}
	for {
		s := j.find(voucherID)
		if s == nil {
			// Without an answer from Redis about the sale there is no clock. The id may be made up: it gets no memory.
			if _, _, ok := j.clock(voucherID); !ok {
				return
			}
			s = j.make(voucherID)
		}
		if s.note(userID, c, address) {
			return
		} // else the sale was just released
	}
}

// Observed notes Redis's answer about a sale, while it is sold out or for the first time after that.
func (j *Journal) Observed(voucherID int64, view *order.SaleView, soldOut bool) {
	s := j.find(voucherID)
	if s == nil && soldOut {
		s = j.make(voucherID)
	}
	if s != nil {
		s.spans.observe(view.Now, view.Mark, soldOut)
	}
}

// Find returns a user's refusal that this instance remembers.
func (j *Journal) Find(voucherID, userID int64) (Refusal, bool) {
	if s := j.find(voucherID); s != nil {
		return s.find(userID)
	}
	return Refusal{}, false
}

// Note returns what this instance has noted of a sale.
func (j *Journal) Note(voucherID int64) (Note, bool) {
	if s := j.find(voucherID); s != nil {
		return s.state(), true
	}
	return Note{}, false
}

func (j *Journal) find(voucherID int64) *sale {
	if found, ok := j.sales.Load(voucherID); ok {
		return found.(*sale)
	}
	return nil
}

func (j *Journal) make(voucherID int64) *sale {
	found, _ := j.sales.LoadOrStore(voucherID, newSale(j, voucherID))
	return found.(*sale)
}

// all returns the sales that the journal has entries for.
func (j *Journal) all() (sales []*sale) {
	j.sales.Range(func(_, found any) bool {
		sales = append(sales, found.(*sale))
		return true
	})
	return sales
}

// millis returns a duration in whole milliseconds, rounded up.
func millis(d time.Duration) int32 {
	return int32(min((d+time.Millisecond-1)/time.Millisecond, time.Hour/time.Millisecond))
}

// roomOf returns what of an address shares room: all of an IPv4 address, and the first 48 bits of an IPv6 address,
// which a customer of a provider may have. Unreadable addresses share one room.
func roomOf(a netip.Addr) uint64 {
	a = a.Unmap()
	switch {
	case a.Is4():
		b := a.As4()
		return uint64(binary.BigEndian.Uint32(b[:])) | 1<<63
	case a.Is6():
		b := a.As16()
		return binary.BigEndian.Uint64(b[:8])>>16 | 1<<62
	default:
		return 0
	}
}
