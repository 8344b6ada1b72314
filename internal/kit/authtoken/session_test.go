package authtoken

import (
	"testing"
	"time"

	"seckill/internal/voucher"
)

// A session's token names an account and when they signed in, and nobody else's token names one.
func TestSessions(t *testing.T) {
	t.Parallel()
	rules := Rules{Secret: secret, Accounts: true}
	v, err := NewVerifier(rules)
	if err != nil {
		t.Fatal(err)
	}
	signedIn := noon.Add(-time.Hour)
	for name, tc := range map[string]struct {
		account  int64
		signedIn time.Time
		until    time.Time
		ok       bool
	}{
		"the first account":    {voucher.FirstAccount, signedIn, noon.Add(time.Hour), true},
		"the last account":     {voucher.LastAccount, signedIn, noon.Add(time.Hour), true},
		"at an unknown time":   {voucher.FirstAccount, time.Time{}, noon.Add(time.Hour), false},
		"below the accounts":   {voucher.FirstAccount - 1, signedIn, noon.Add(time.Hour), false},
		"above the accounts":   {voucher.LastAccount + 1, signedIn, noon.Add(time.Hour), false},
		"over before it began": {voucher.FirstAccount, signedIn, noon, false},
	} {
		token, err := SignSession(rules, Session{
			Account: tc.account, Level: 3, Since: signedIn, SignedIn: tc.signedIn, Until: tc.until,
		}, noon)
		if (err == nil) != tc.ok {
			t.Errorf("%s: signed with %v", name, err)
		}
		if err != nil {
			continue
		}
		want := Identity{UserID: tc.account, Level: 3, Since: signedIn, Issued: tc.signedIn, Expires: tc.until}
		got, err := v.Verify(token, noon)
		if err != nil || !got.Issued.Equal(want.Issued) || !got.Expires.Equal(want.Expires) ||
			got.UserID != tc.account || got.Level != want.Level || !got.Since.Equal(want.Since) ||
			got.Role != RoleBuyer {
			t.Errorf("%s: read as %+v, %v; want %+v", name, got, err, want)
		}
	}
	for name, user := range map[string]int64{
		"an account": voucher.FirstAccount, "the last": voucher.LastAccount, "a user": 42,
		"a rehearsal's": voucher.FirstRehearsalUser,
	} {
		token, err := Sign(rules, user, "", time.Hour, noon)
		if err != nil {
			t.Fatal(err)
		}
		_, err = v.Verify(token, noon)
		if account := user >= voucher.FirstAccount && user <= voucher.LastAccount; (err == nil) == account {
			t.Errorf("%s, signed by somebody else: %v", name, err)
		}
	}
}

// A session above a buyer's is signed by the admins' secret alone, and has a shop where its role has one.
func TestStaffSessions(t *testing.T) {
	t.Parallel()
	both := Rules{Secret: secret, Admin: []byte("fedcba9876543210fedcba9876543210"), Accounts: true}
	one := Rules{Secret: secret, Accounts: true}
	for name, tc := range map[string]struct {
		rules Rules
		role  string
		shop  int64
		ok    bool
	}{
		"a buyer":                    {both, RoleBuyer, 0, true},
		"an admin":                   {both, RoleAdmin, 0, true},
		"a merchant":                 {both, RoleMerchant, 3, true},
		"a till":                     {both, RoleTill, voucher.MaxID, true},
		"an admin, one secret":       {one, RoleAdmin, 0, false},
		"a till, one secret":         {one, RoleTill, 3, false},
		"a merchant without a shop":  {both, RoleMerchant, 0, false},
		"a till in no shop":          {both, RoleTill, -1, false},
		"a shop beyond all":          {both, RoleTill, voucher.MaxID + 1, false},
		"an admin in a shop":         {both, RoleAdmin, 3, false},
		"a buyer in a shop":          {both, RoleBuyer, 3, false},
		"a crowd":                    {both, RoleCrowd, 0, false},
		"a role that nobody knows":   {both, "owner", 0, false},
		"a role in capital letters":  {both, "Admin", 0, false},
		"a merchant, admin in claim": {both, "merchant,admin", 3, false},
	} {
		token, err := SignSession(tc.rules, Session{
			Account: voucher.FirstAccount, Role: tc.role, Shop: tc.shop, SignedIn: noon, Until: noon.Add(time.Hour),
		}, noon)
		if (err == nil) != tc.ok {
			t.Errorf("%s: signed with %v", name, err)
		}
		if err != nil {
			continue
		}
		v, err := NewVerifier(tc.rules)
		if err != nil {
			t.Fatal(err)
		}
		who, err := v.Verify(token, noon)
		if err != nil || who.Role != tc.role || who.Shop != tc.shop {
			t.Errorf("%s: read as %+v, %v", name, who, err)
		}
	}
}
