package identity

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"seckill/internal/authtoken"
	"seckill/internal/feature/identity/issuers"
)

// Staff get the role that they sign in for, and no other; a session above a buyer's ends an hour after the sign-in at
// the provider, or earlier.
func TestPurposes(t *testing.T) {
	t.Parallel()
	type roles = map[issuers.Role]int64
	owner, boss := roles{issuers.Merchant: 3, issuers.Till: 3}, roles{issuers.Admin: 0, issuers.Merchant: 3}
	for name, tc := range map[string]struct {
		roles    roles
		purpose  Purpose
		signedIn time.Duration // before noon
		rules    authtoken.Rules
		role     string
		shop     int64
		want     time.Duration // from noon
		err      error
	}{
		"an admin buys":          {roles: boss, purpose: ForShop, want: 8 * time.Hour},
		"an admin":               {roles: boss, purpose: ForConsole, role: "admin", want: time.Hour},
		"a merchant":             {roles: owner, purpose: ForConsole, role: "merchant", shop: 3, want: time.Hour},
		"a till":                 {roles: owner, purpose: ForTill, role: "till", shop: 3, want: time.Hour},
		"a buyer at the console": {purpose: ForConsole, err: ErrNotOfConsole},
		"a till at the console":  {roles: roles{issuers.Till: 3}, purpose: ForConsole, err: ErrNotOfConsole},
		"a buyer at a till":      {purpose: ForTill, err: ErrNotOfTill},
		"an admin at a till":     {roles: boss, purpose: ForTill, err: ErrNotOfTill},
		"signed in half an hour": {
			roles: boss, purpose: ForConsole, signedIn: 30 * time.Minute,
			role: "admin", want: 30 * time.Minute,
		},
		"signed in an hour": {
			roles: boss, purpose: ForConsole, signedIn: time.Hour, err: issuers.ErrRefused,
		},
		"a day, to buy": {roles: boss, purpose: ForShop, signedIn: 20 * time.Hour, want: 8 * time.Hour},
		"with a shorter bound": {
			roles: boss, purpose: ForConsole,
			rules: authtoken.Rules{AdminMaxLife: time.Minute}, role: "admin", want: time.Minute,
		},
		"with a longer bound": {
			roles: boss, purpose: ForConsole,
			rules: authtoken.Rules{AdminMaxLife: 9 * time.Hour}, role: "admin", want: time.Hour,
		},
		"a till, a shorter bound": {
			roles: owner, purpose: ForTill,
			rules: authtoken.Rules{MaxLife: time.Minute}, role: "till", shop: 3, want: time.Minute,
		},
		"an unknown purpose": {roles: boss, purpose: "admin", want: 8 * time.Hour},
	} {
		tc.rules.Admin = []byte("fedcba9876543210fedcba9876543210")
		s := newSessions(&fakeAccounts{}, tc.rules, noon.Add(-tc.signedIn))
		verify := s.verify
		s.verify = func(ctx context.Context, token string) (issuers.Person, error) {
			who, err := verify(ctx, token)
			who.Roles = tc.roles
			return who, err
		}
		got, err := s.Exchange(t.Context(), "a.b.c", tc.purpose)
		if !errors.Is(err, tc.err) {
			t.Errorf("%s: %v, want %v", name, err, tc.err)
		}
		if err != nil {
			continue
		}
		v, err := authtoken.NewVerifier(s.rules)
		if err != nil {
			t.Fatal(err)
		}
		who, err := v.Verify(got.Token, noon)
		if err != nil || who.Role != tc.role || who.Shop != tc.shop || got.Role != tc.role || got.Shop != tc.shop ||
			!who.Expires.Equal(noon.Add(tc.want)) || !got.Expires.Equal(who.Expires) {
			t.Errorf("%s: %+v, %+v, %v", name, got, who, err)
		}
	}
}

// With one secret for all roles, the signer of buyers' tokens could sign those of staff. With two sources of numbers,
// two people could have the same number.
func TestSettingsFit(t *testing.T) {
	t.Parallel()
	nobody := issuers.Issuer{Name: "a"}
	somebody := issuers.Issuer{Name: "b", Staff: issuers.Staff{Roles: map[issuers.Role][]string{issuers.Till: {"t"}}}}
	numeric := issuers.Issuer{Name: "c", Numeric: true}
	for name, tc := range map[string]struct {
		other             issuers.Issuer
		ownSecret, direct bool
		want              string
	}{
		"buyers":                    {issuers.Issuer{Name: "d"}, false, true, ""},
		"staff, one secret":         {somebody, false, true, "SECKILL_JWT_ADMIN_SECRET"},
		"staff, two secrets":        {somebody, true, true, ""},
		"numbers from two sources":  {numeric, true, true, "SECKILL_JWT_DIRECT"},
		"numbers from the provider": {numeric, false, false, ""},
		"numbers from nowhere":      {issuers.Issuer{Name: "d"}, false, false, ""},
	} {
		err := checkSettings([]issuers.Issuer{nobody, tc.other}, tc.ownSecret, tc.direct)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}

// A buyer of a numeric issuer keeps their number, without a look at the ledger; as staff the same person is an account.
func TestNumbers(t *testing.T) {
	t.Parallel()
	accounts := &fakeAccounts{}
	s := newSessions(accounts, authtoken.Rules{
		Admin: []byte("fedcba9876543210fedcba9876543210"), SessionsOnly: true,
	}, noon)
	verify := s.verify
	s.verify = func(ctx context.Context, token string) (issuers.Person, error) {
		who, err := verify(ctx, token)
		who.Number, who.Roles = 42, map[issuers.Role]int64{issuers.Admin: 0}
		return who, err
	}
	v, err := authtoken.NewVerifier(s.rules)
	if err != nil {
		t.Fatal(err)
	}
	for purpose, want := range map[Purpose]int64{ForShop: 42, ForConsole: firstAccount + 5} {
		got, err := s.Exchange(t.Context(), "a.b.c", purpose)
		if err != nil || got.UserID != want {
			t.Fatalf("for the %s: %+v, %v; want user %d", purpose, got, err, want)
		}
		if who, err := v.Verify(got.Token, noon); err != nil || who.UserID != want {
			t.Errorf("for the %s: the token says %+v, %v", purpose, who, err)
		}
	}
	if n := accounts.asked.Load(); n != 1 {
		t.Errorf("the ledger was asked %d times, want once, for the admin", n)
	}
	s.void.Tell(Users{First: 42, Last: 42, Before: noon})
	if _, err := s.Exchange(t.Context(), "a.b.c", ForShop); !errors.Is(err, issuers.ErrRefused) {
		t.Errorf("a revoked number: %v", err)
	}
}
