package identity

import (
	"context"
	"errors"
	"testing"
	"time"

	"seckill/internal/feature/identity/issuers"
	"seckill/internal/kit/authtoken"
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

// One secret for all roles would let whoever makes buyers' tokens make the staff's.
func TestStaffNeedsSecret(t *testing.T) {
	t.Parallel()
	nobody := issuers.Issuer{Name: "a"}
	somebody := issuers.Issuer{Name: "b", Staff: issuers.Staff{Roles: map[issuers.Role][]string{issuers.Till: {"t"}}}}
	for _, tc := range []struct {
		list []issuers.Issuer
		own  bool
		ok   bool
	}{
		{[]issuers.Issuer{nobody}, false, true},
		{[]issuers.Issuer{nobody, somebody}, false, false},
		{[]issuers.Issuer{nobody, somebody}, true, true},
	} {
		if err := checkStaff(tc.list, tc.own); (err == nil) != tc.ok {
			t.Errorf("%+v, a secret of their own %t: %v", tc.list, tc.own, err)
		}
	}
}
