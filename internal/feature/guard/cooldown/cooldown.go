package cooldown

import (
	"fmt"
	"sync"
	"time"

	"seckill/internal/voucher/guards"
)

// MaxUnpaid bounds how many users with expired orders an instance remembers. Beyond it, newcomers replace others, who
// are let in again. To reach it, somebody would have to buy that many units within a week and leave them unpaid.
const MaxUnpaid = 1_000_000

// Error is the refusal of a user who lets orders expire too often.
type Error struct {
	Retry time.Duration // the wait until they may buy again
}

func (e *Error) Error() string {
	return fmt.Sprintf("orders of the user expired unpaid; wait %s", e.Retry)
}

// Unpaid counts a user's orders that expired unpaid, each within [guards.CoolDownMemory] of the one before.
type Unpaid struct {
	UserID  int64
	Expired int64
	Age     time.Duration // since the last of these orders expired, by the ledger's clock
}

// Users knows which users let orders expire. It decides from memory, so a ledger that hangs delays nobody.
type Users struct {
	now     func() time.Time
	started time.Time
	mu      sync.RWMutex
	users   map[int64]unpaid
}

// unpaid is a user's expired orders, in 16 bytes.
type unpaid struct {
	last    time.Duration // from Users.started until their last order expired: setting the clock does not change it
	expired int64
}

// NewUsers returns an empty set.
func NewUsers(now func() time.Time) *Users {
	return &Users{now: now, started: now(), users: make(map[int64]unpaid)}
}

// Check returns a *Error if the settings make the user wait.
func (c *Users) Check(s *guards.CoolDown, userID int64) error {
	c.mu.RLock()
	u, known := c.users[userID]
	c.mu.RUnlock()
	if !known || u.expired < s.Expired {
		return nil
	}
	if wait := u.last + time.Duration(s.Minutes)*time.Minute - c.at(); wait > 0 {
		return &Error{Retry: wait}
	}
	return nil
}

func (c *Users) at() time.Duration { return c.now().Sub(c.started) }

// Tell adds users, or replaces their entries.
func (c *Users) Tell(users []Unpaid) {
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

func (c *Users) dropAny() {
	for other := range c.users {
		delete(c.users, other)
		return
	}
}

// ForgetOld removes users whose last order expired so long ago that their count would start again.
func (c *Users) ForgetOld() {
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
func (c *Users) ForgetAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.users = make(map[int64]unpaid)
}
