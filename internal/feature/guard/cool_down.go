package guard

import (
	"fmt"
	"sync"
	"time"

	"seckill/internal/voucher/guards"
)

// MaxUnpaid bounds how many users with expired orders an instance remembers. Beyond it, newcomers replace others, who
// are let in again: to fill it, somebody would have to buy that many units within a week and leave them unpaid.
const MaxUnpaid = 1_000_000

// CoolDownError says that a user lets orders expire too often.
type CoolDownError struct {
	Retry time.Duration // after which they may buy again
}

func (e *CoolDownError) Error() string {
	return fmt.Sprintf("orders of the user expired unpaid; wait %s", e.Retry)
}

// Unpaid counts a user's orders that expired unpaid, each within [guards.CoolDownMemory] of the one before.
type Unpaid struct {
	UserID  int64
	Expired int64
	Age     time.Duration // of the last of them, by the ledger's clock
}

// CoolDownCheck is the guard "coolDown". It decides from what was loaded last, so a ledger that hangs delays nobody.
type CoolDownCheck struct {
	now     func() time.Time
	started time.Time
	mu      sync.RWMutex
	users   map[int64]unpaid
}

// unpaid is what is known about a user, in 16 bytes.
type unpaid struct {
	last    time.Duration // when their last order expired, since the start: no clock that is set moves it
	expired int64
}

// NewCoolDownCheck returns a guard that remembers no users yet.
func NewCoolDownCheck(now func() time.Time) *CoolDownCheck {
	return &CoolDownCheck{now: now, started: now(), users: make(map[int64]unpaid)}
}

// Name implements Guard.
func (c *CoolDownCheck) Name() guards.Name { return guards.CoolDownGuard }

// Check implements Guard: a *CoolDownError.
func (c *CoolDownCheck) Check(r *Request) error {
	s := r.Sale.Settings.CoolDown
	c.mu.RLock()
	u, known := c.users[r.Caller.UserID]
	c.mu.RUnlock()
	if !known || u.expired < s.Expired {
		return nil
	}
	if wait := u.last + time.Duration(s.Minutes)*time.Minute - c.at(); wait > 0 {
		return &CoolDownError{Retry: wait}
	}
	return nil
}

func (c *CoolDownCheck) at() time.Duration { return c.now().Sub(c.started) }

// Tell adds users, or replaces what is known about them.
func (c *CoolDownCheck) Tell(users []Unpaid) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.at()
	for _, u := range users {
		if u.Age >= guards.CoolDownMemory {
			continue
		}
		if _, known := c.users[u.UserID]; !known && len(c.users) >= MaxUnpaid {
			c.dropAny()
		}
		c.users[u.UserID] = unpaid{last: at - max(u.Age, 0), expired: u.Expired}
	}
}

func (c *CoolDownCheck) dropAny() {
	for other := range c.users {
		delete(c.users, other)
		return
	}
}

// ForgetOld removes users whose last order expired so long ago that their count would start again.
func (c *CoolDownCheck) ForgetOld() {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.at() - guards.CoolDownMemory
	for id, u := range c.users {
		if u.last <= before {
			delete(c.users, id)
		}
	}
}

// ForgetAll removes all users and releases their memory.
func (c *CoolDownCheck) ForgetAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.users = make(map[int64]unpaid)
}
