package identity

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/maypok86/otter/v2"

	"seckill/internal/authtoken"
	"seckill/internal/feature/identity/issuers"
	"seckill/internal/kit/bulkhead"
	"seckill/internal/order"
)

const (
	atOnce     = 256     // exchanges under way at an instance
	remembered = 200_000 // accounts, some 200 bytes each

	// rememberedFor ends before Void drops the entry of somebody who was forgotten (KeepVoid).
	rememberedFor = 48 * time.Hour

	// staffLife is how long staff stay signed in, counted from their sign-in at the provider: one of its tokens must
	// not make them staff for a day.
	staffLife = time.Hour
)

// ErrManySignIns is the error when too many users sign in at once at this instance.
var ErrManySignIns = fmt.Errorf("%w: too many sign-ins at once", order.ErrUnavailable)

// ErrSignedOut is the error for a provider's token of a user who has signed out after it, or at most
// authtoken.ClockLead before it, or whose tokens were revoked then.
var ErrSignedOut = errors.New("its user has signed out since, or it was revoked")

// Refusals of users whose provider does not give them the role that they need.
var (
	ErrNotOfConsole = errors.New("the user is neither an admin nor a merchant")
	ErrNotOfTill    = errors.New("the user is no till")
)

// Purpose is the part of the service that a user signs in to. Their session has only the role that it needs.
type Purpose string

// The purposes.
const (
	ForShop    Purpose = "shop"    // as a buyer
	ForConsole Purpose = "console" // as an admin, or else a merchant
	ForTill    Purpose = "till"    // as a till
)

// as returns the role and the shop that a person gets. Errors: ErrNotOfConsole, ErrNotOfTill.
func (p Purpose) as(who issuers.Person) (role string, shop int64, err error) {
	var (
		wanted  []issuers.Role
		refusal error
	)
	switch p {
	case ForShop:
	case ForConsole:
		wanted, refusal = []issuers.Role{issuers.Admin, issuers.Merchant}, ErrNotOfConsole
	case ForTill:
		wanted, refusal = []issuers.Role{issuers.Till}, ErrNotOfTill
	}
	for _, role := range wanted {
		if shop, ok := who.Roles[role]; ok {
			return string(role), shop, nil
		}
	}
	return authtoken.RoleBuyer, 0, refusal
}

// Session is a token of this service, with its user and their role.
type Session struct {
	Token   string
	UserID  int64
	Role    string
	Shop    int64
	Expires time.Time
}

// Sessions exchanges tokens. It is safe for concurrent use.
type Sessions struct {
	verify  func(ctx context.Context, token string) (issuers.Person, error)
	account func(ctx context.Context, issuer, subject string) (int64, error)
	void    *Void
	rules   authtoken.Rules
	life    time.Duration
	now     func() time.Time
	log     *slog.Logger

	room  *bulkhead.Bulkhead
	users *otter.Cache[account, int64]
}

// account is a user as their provider knows them.
type account struct{ issuer, subject string }

// NewSessions returns sessions that live for a time and are signed by the rules. find returns the user of a subject,
// and makes an account for a new subject. Its error: order.ErrUnavailable.
func NewSessions(
	v *issuers.Verifier, find func(ctx context.Context, issuer, subject string) (int64, error), void *Void,
	rules authtoken.Rules, life time.Duration, now func() time.Time, log *slog.Logger,
) *Sessions {
	return &Sessions{
		verify: v.Verify, account: find, void: void, rules: rules, life: life, now: now, log: log,
		// Sign-ins have permits of their own: while a provider hangs, only they wait for it.
		room: bulkhead.New(atOnce, 0, bulkhead.Purchase),
		users: otter.Must(&otter.Options[account, int64]{
			MaximumSize: remembered, ExpiryCalculator: otter.ExpiryWriting[account, int64](rememberedFor),
		}),
	}
}

// Exchange returns a session for a provider's token. Errors: issuers.ErrRefused, ErrNotOfConsole, ErrNotOfTill,
// ErrManySignIns, order.ErrUnavailable.
func (s *Sessions) Exchange(ctx context.Context, token string, purpose Purpose) (Session, error) {
	permit, ok := s.room.Try(bulkhead.Purchase)
	if !ok {
		return Session{}, ErrManySignIns
	}
	defer permit.Release()
	who, err := s.verify(ctx, token)
	if err != nil {
		return Session{}, err
	}
	role, shop, err := purpose.as(who)
	if err != nil {
		return Session{}, err
	}
	user, err := s.user(ctx, who, role)
	if err != nil {
		return Session{}, err
	}
	// The provider's clock may be ahead, so its tokens count as signed in as early as they may have been.
	if s.void.Covers(user, who.SignedIn.Add(-authtoken.ClockLead)) {
		return Session{}, fmt.Errorf("%w: %w", issuers.ErrRefused, ErrSignedOut)
	}
	now := s.now()
	signedIn := who.SignedIn
	if signedIn.After(now) {
		signedIn = now // a sign-out covers what was signed before it
	}
	until := s.end(role, signedIn, now)
	if !until.After(now) {
		return Session{}, issuers.Refuse("its user signed in longer ago than a session of the role may last")
	}
	signed, err := authtoken.SignSession(s.rules, authtoken.Session{
		Account:  authtoken.Account{User: user, Role: role, Shop: shop, Level: who.Level, Since: who.Since},
		SignedIn: signedIn, Until: until,
	}, now)
	if err != nil {
		return Session{}, err
	}
	if role != authtoken.RoleBuyer { // logged with their subject: the audit trail has only their number
		s.log.InfoContext(ctx, "staff signed in", "user", user, "role", role, "shop", shop,
			"issuer", who.Issuer, "subject", who.Subject, "until", until)
	}
	return Session{Token: signed, UserID: user, Role: role, Shop: shop, Expires: until}, nil
}

// end returns when a session ends.
func (s *Sessions) end(role string, signedIn, now time.Time) time.Time {
	until := now.Add(s.life)
	longest := s.rules.Life(role)
	if role != authtoken.RoleBuyer && (longest == 0 || longest > staffLife) {
		longest = staffLife
	}
	if last := signedIn.Add(longest); longest > 0 && last.Before(until) {
		until = last
	}
	return until.Truncate(time.Second)
}

// user returns the user of a person, from memory if they signed in here before, and their tokens were not made void
// since: then they may have been forgotten, and have another number, or none. Staff of a numeric issuer get accounts:
// in tokens signed with the admins' secret, the same numbers belong to other people.
func (s *Sessions) user(ctx context.Context, who issuers.Person, role string) (int64, error) {
	if who.Number > 0 && role == authtoken.RoleBuyer {
		return who.Number, nil
	}
	key := account{who.Issuer, who.Subject}
	if user, ok := s.users.GetIfPresent(key); ok && !s.void.Covers(user, time.Time{}) {
		return user, nil
	}
	user, err := s.account(ctx, who.Issuer, who.Subject)
	if err != nil {
		return 0, err
	}
	s.users.Set(key, user)
	return user, nil
}
