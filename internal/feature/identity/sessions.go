package identity

import (
	"context"
	"fmt"
	"time"

	"github.com/maypok86/otter/v2"

	"seckill/internal/feature/identity/issuers"
	"seckill/internal/kit/authtoken"
	"seckill/internal/kit/bulkhead"
	"seckill/internal/order"
)

const (
	atOnce     = 256     // exchanges that an instance works on
	remembered = 200_000 // accounts, some 200 bytes each
)

// ErrManySignIns says that too many users sign in at once at this instance.
var ErrManySignIns = fmt.Errorf("%w: too many sign-ins at once", order.ErrUnavailable)

// Accounts knows which user a subject is: the ledger.
type Accounts interface {
	// Account returns the user of a subject, and makes one for a new subject. order.ErrUnavailable.
	Account(ctx context.Context, issuer, subject string) (int64, error)
}

// Session is a token of this service and whose it is.
type Session struct {
	Token   string
	UserID  int64
	Expires time.Time
}

// Sessions exchanges tokens. It is safe for concurrent use.
type Sessions struct {
	verify   func(ctx context.Context, token string) (issuers.Person, error)
	accounts Accounts
	void     *Void
	rules    authtoken.Rules
	life     time.Duration
	now      func() time.Time

	room  *bulkhead.Bulkhead
	users *otter.Cache[account, int64]
}

// account is a user as their provider knows them.
type account struct{ issuer, subject string }

// NewSessions returns sessions that live for a time and are signed by the rules.
func NewSessions(
	v *issuers.Verifier, accounts Accounts, void *Void, rules authtoken.Rules, life time.Duration, now func() time.Time,
) *Sessions {
	return &Sessions{
		verify: v.Verify, accounts: accounts, void: void, rules: rules, life: life, now: now,
		// Of their own: while a provider hangs, sign-ins wait for it, and nobody else does.
		room:  bulkhead.New(atOnce, 0, bulkhead.Purchase),
		users: otter.Must(&otter.Options[account, int64]{MaximumSize: remembered}),
	}
}

// Exchange returns a session for a provider's token. issuers.ErrRefused, ErrManySignIns, order.ErrUnavailable.
func (s *Sessions) Exchange(ctx context.Context, token string) (Session, error) {
	permit, ok := s.room.Try(bulkhead.Purchase)
	if !ok {
		return Session{}, ErrManySignIns
	}
	defer permit.Release()
	who, err := s.verify(ctx, token)
	if err != nil {
		return Session{}, err
	}
	user, err := s.user(ctx, who)
	if err != nil {
		return Session{}, err
	}
	if s.void.Covers(user, who.SignedIn) {
		return Session{}, issuers.Refuse("its user has signed out since, or it was revoked")
	}
	now := s.now()
	until := now.Add(s.life)
	if longest := s.rules.MaxLife; longest > 0 && who.SignedIn.Add(longest).Before(until) {
		until = who.SignedIn.Add(longest)
	}
	until = until.Truncate(time.Second)
	if !until.After(now) {
		return Session{}, issuers.Refuse("its user signed in longer ago than SECKILL_JWT_MAX_LIFE")
	}
	signed, err := authtoken.SignSession(s.rules, user, who.Level, who.Since, who.SignedIn, until, now)
	if err != nil {
		return Session{}, err
	}
	return Session{Token: signed, UserID: user, Expires: until}, nil
}

// user returns the user of a person, from memory if they were here before.
func (s *Sessions) user(ctx context.Context, who issuers.Person) (int64, error) {
	key := account{who.Issuer, who.Subject}
	if user, ok := s.users.GetIfPresent(key); ok {
		return user, nil
	}
	user, err := s.accounts.Account(ctx, who.Issuer, who.Subject)
	if err != nil {
		return 0, err
	}
	s.users.Set(key, user)
	return user, nil
}
