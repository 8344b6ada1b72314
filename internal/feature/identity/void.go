package identity

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"seckill/internal/kit/periodic"
	"seckill/internal/voucher"
)

const (
	// KeepVoid is how long a revocation of accounts is kept. A provider's token is at most a day old when it is
	// exchanged, and the session is valid for at most a day.
	KeepVoid = 72 * time.Hour

	maxVoid     = 1_000_000 // users whom an instance remembers; above it, arbitrary ones are forgotten
	voidEvery   = time.Second
	voidTimeout = 2 * time.Second // one page
	voidPage    = 1000
	voidOverlap = time.Minute // how far back rows are read again: a row may be committed after later ones
	sweepEvery  = 3600        // rounds
)

// Users are a range of users, from First to Last, whose tokens are void if they were signed in up to Before.
type Users struct {
	First, Last int64
	Before      time.Time // to the second
	At          time.Time // when the row was written
}

// VoidLedger keeps the users whose tokens are void.
type VoidLedger interface {
	// VoidAfter returns the rows written after a time, and the rows written at that time whose first user is above
	// first, ordered by time and first user.
	VoidAfter(ctx context.Context, at time.Time, first int64, limit int) ([]Users, error)
	// ForgetVoid removes up to limit rows of accounts that are older than an age. Rows of other users stay: their
	// tokens are valid for as long as their issuer likes.
	ForgetVoid(ctx context.Context, age time.Duration, limit int) error
}

// Void has the users whose tokens are void. Its zero value has nobody. It is safe for concurrent use.
type Void struct {
	any    atomic.Bool // false while no tokens are void, as in most services: then a check is one load
	mu     sync.RWMutex
	users  map[int64]int64    // Before in seconds since 1970, by user
	ranges map[[2]int64]int64 // the same, by the range of an issuer's users
}

// Covers reports whether a user's token that was signed in at a time is void; the zero time is before all others. For
// tokens that others sign, whose clocks may be ahead, the caller subtracts authtoken.ClockLead.
func (v *Void) Covers(user int64, signedIn time.Time) bool {
	if !v.any.Load() {
		return false
	}
	at := int64(-1)
	if !signedIn.IsZero() {
		at = signedIn.Unix()
	}
	v.mu.RLock()
	defer v.mu.RUnlock()
	if before, known := v.users[user]; known && at <= before {
		return true
	}
	for r, before := range v.ranges {
		if user >= r[0] && user <= r[1] && at <= before {
			return true
		}
	}
	return false
}

// Tell adds users.
func (v *Void) Tell(all ...Users) {
	if len(all) == 0 {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.users == nil {
		v.users, v.ranges = map[int64]int64{}, map[[2]int64]int64{}
	}
	for _, u := range all {
		if before := u.Before.Unix(); u.First == u.Last {
			if _, known := v.users[u.First]; !known && len(v.users) >= maxVoid {
				v.dropAny()
			}
			v.users[u.First] = max(before, v.users[u.First])
		} else {
			key := [2]int64{u.First, u.Last}
			v.ranges[key] = max(before, v.ranges[key])
		}
	}
	v.any.Store(true)
}

func (v *Void) dropAny() {
	for other := range v.users {
		delete(v.users, other)
		return
	}
}

// forget drops entries that are older than KeepVoid, except those of users without an account.
func (v *Void) forget(now time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	last := now.Add(-KeepVoid).Unix()
	for user, before := range v.users {
		if before < last && user >= voucher.FirstAccount && user <= voucher.LastAccount {
			delete(v.users, user)
		}
	}
	for users, before := range v.ranges {
		if before < last && users[0] >= voucher.FirstAccount {
			delete(v.ranges, users)
		}
	}
}

// count returns the number of users and issuers.
func (v *Void) count() int {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return len(v.users) + len(v.ranges)
}

// VoidLoader reads new rows of the ledger into a Void each second.
type VoidLoader struct {
	void    *Void
	ledger  VoidLedger
	now     func() time.Time
	log     *slog.Logger
	at      time.Time // the write time of the newest row read
	rounds  int
	failing bool
}

// NewVoidLoader returns a loader; Run loads.
func NewVoidLoader(void *Void, ledger VoidLedger, now func() time.Time, log *slog.Logger) *VoidLoader {
	return &VoidLoader{void: void, ledger: ledger, now: now, log: log}
}

// Run loads at once, and then each second, until ctx ends.
func (l *VoidLoader) Run(ctx context.Context) error {
	l.round(ctx)
	return periodic.Every(ctx, voidEvery, l.round)
}

func (l *VoidLoader) round(ctx context.Context) {
	err := l.load(ctx)
	if l.rounds++; err == nil && l.rounds%sweepEvery == 0 {
		l.void.forget(l.now())
		err = l.ledger.ForgetVoid(ctx, KeepVoid, voidPage)
	}
	switch {
	case ctx.Err() != nil:
		return
	case err != nil && !l.failing:
		l.log.WarnContext(ctx, "whose tokens are void cannot be read; what is known holds", "error", err)
	case err == nil && l.failing:
		l.log.InfoContext(ctx, "whose tokens are void can be read again")
	}
	l.failing = err != nil
}

// load reads all pages of new rows.
func (l *VoidLoader) load(ctx context.Context) error {
	at, first := time.Unix(0, 0), int64(0) // the first load reads all rows
	if !l.at.IsZero() {
		at = l.at.Add(-voidOverlap)
	}
	for {
		page, err := l.page(ctx, at, first)
		if err != nil {
			return err
		}
		l.void.Tell(page...)
		if len(page) > 0 {
			last := page[len(page)-1]
			at, first = last.At, last.First
			l.at = at
		}
		if len(page) < voidPage {
			return nil
		}
	}
}

func (l *VoidLoader) page(ctx context.Context, at time.Time, first int64) ([]Users, error) {
	ctx, cancel := context.WithTimeout(ctx, voidTimeout)
	defer cancel()
	return l.ledger.VoidAfter(ctx, at, first, voidPage)
}
