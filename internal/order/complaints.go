package order

import (
	"sync"
	"time"
)

const (
	mendQueue = 1024                   // complaints that can wait; more are found by the keeper's next sweep
	mendEvery = 100 * time.Millisecond // a sale that every caller complains of is looked at no more often
)

// NotBroken is the epoch to pass to Mend when no epoch of the sale is known to be wrong.
const NotBroken int64 = -1

// Complaints are the sales that somebody found wrong in Redis, for the Keeper to see to. It is the Mender of all who
// work on sales.
type Complaints struct {
	waiting chan int64 // voucher ids

	mu     sync.Mutex
	asked  map[int64]asking // by voucher id
	broken map[int64]int64  // by voucher id: an epoch known to be wrong, until a rebuild has left it behind
}

// asking is what is known of the complaints about one sale.
type asking struct {
	waits bool      // one waits in the queue
	last  time.Time // when the last one was taken from the queue
}

// NewComplaints returns a list without any.
func NewComplaints() *Complaints {
	return &Complaints{waiting: make(chan int64, mendQueue), asked: make(map[int64]asking), broken: make(map[int64]int64)}
}

// Mend asks for the sale to be looked at, and rebuilt if Redis does not hold it as the ledger says, or if its epoch is
// not above broken. It does not wait. Every refused buyer may call it: what is asked again, or again too soon, is
// dropped, as the next sweep looks anyway; a broken epoch is remembered until it has been left behind.
func (c *Complaints) Mend(voucherID, broken int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, has := c.broken[voucherID]
	news := broken > NotBroken && (!has || broken > known)
	if news {
		c.broken[voucherID] = broken
	}
	before := c.asked[voucherID]
	if before.waits || !news && time.Since(before.last) < mendEvery {
		return
	}
	select {
	case c.waiting <- voucherID:
		c.asked[voucherID] = asking{waits: true, last: before.last}
	default: // the next sweep finds what is missing
	}
}

// took says that the complaint about the sale is no longer in the queue.
func (c *Complaints) took(voucherID int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked[voucherID] = asking{last: time.Now()}
}

// epoch returns the highest epoch of the sale that is known to be wrong, or NotBroken.
func (c *Complaints) epoch(voucherID int64) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if epoch, has := c.broken[voucherID]; has {
		return epoch
	}
	return NotBroken
}

// leftBehind forgets a broken epoch that the sale is above of.
func (c *Complaints) leftBehind(voucherID, epoch int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if broken, has := c.broken[voucherID]; has && broken < epoch {
		delete(c.broken, voucherID)
	}
}

// forget drops what is remembered of a sale that has left Redis.
func (c *Complaints) forget(voucherID int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.asked, voucherID)
	delete(c.broken, voucherID)
}
