package authtoken

import (
	"testing"
	"time"

	"seckill/internal/voucher"
)

// A session's token has the id of an account and the time of its sign-in. No other token may have an account's id.
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
			Account: Account{User: tc.account, Level: 3, Since: signedIn}, SignedIn: tc.signedIn, Until: tc.until,
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
		token, err := Sign(rules, Account{User: user}, time.Hour, noon)
		if err != nil {
			t.Fatal(err)
		}
		_, err = v.Verify(token, noon)
		if account := user >= voucher.FirstAccount && user <= voucher.LastAccount; (err == nil) == account {
			t.Errorf("%s, signed by somebody else: %v", name, err)
		}
	}
}

// The sessions of admins, merchants and tills are signed with the admins' secret only; those of merchants and tills
// name a shop, and no others do.
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
			Account:  Account{User: voucher.FirstAccount, Role: tc.role, Shop: tc.shop},
			SignedIn: noon, Until: noon.Add(time.Hour),
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

// With SessionsOnly, a buyer's session may have a number of the identity provider's own instead of an account. Other
// tokens of buyers are refused, except a rehearsal's. Staff have accounts in sessions, and other numbers in direct
// tokens.
func TestSessionsOnly(t *testing.T) {
	t.Parallel()
	rules := Rules{Secret: secret, Admin: admins, Accounts: true, SessionsOnly: true}
	direct := Rules{Secret: secret, Admin: admins, Accounts: true}
	v := verifier(t, rules)
	session := func(rules Rules, user int64, role string) (string, error) {
		return SignSession(rules, Session{
			Account: Account{User: user, Role: role}, SignedIn: noon, Until: noon.Add(time.Hour),
		}, noon)
	}
	for name, tc := range map[string]struct {
		user   int64
		role   string
		signed bool // as a session
		direct bool // without a session
	}{
		"user 1":               {1, RoleBuyer, true, false},
		"the last number":      {voucher.FirstAccount - 1, RoleBuyer, true, false},
		"an account":           {voucher.FirstAccount, RoleBuyer, true, false},
		"the last account":     {voucher.LastAccount, RoleBuyer, true, false},
		"a rehearsal's buyer":  {voucher.FirstRehearsalUser, RoleBuyer, false, true},
		"an admin by number":   {1, RoleAdmin, false, true},
		"an admin's account":   {voucher.FirstAccount, RoleAdmin, true, false},
		"nobody":               {0, RoleBuyer, false, false},
		"a number below those": {-1, RoleBuyer, false, false},
	} {
		token, err := session(rules, tc.user, tc.role)
		if (err == nil) != tc.signed {
			t.Errorf("%s: signed as a session with %v", name, err)
		}
		if err == nil {
			if who, err := v.Verify(token, noon); err != nil || who.UserID != tc.user || who.Role != tc.role {
				t.Errorf("%s: read as %+v, %v", name, who, err)
			}
		}
		if _, err := Sign(rules, Account{User: tc.user, Role: tc.role}, time.Hour, noon); (err == nil) != tc.direct &&
			tc.user < voucher.FirstAccount {
			t.Errorf("%s: signed with %v", name, err)
		}
		if token, err = Sign(direct, Account{User: tc.user, Role: tc.role}, time.Hour, noon); err != nil {
			continue
		}
		if _, err := v.Verify(token, noon); (err == nil) != tc.direct {
			t.Errorf("%s, signed by somebody else: %v", name, err)
		}
	}
	token, err := session(rules, 42, RoleBuyer)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := verifier(t, direct).Verify(token, noon); err == nil {
		t.Error("a session with a number is taken where direct tokens are")
	}
	if _, err := NewVerifier(Rules{Secret: secret, SessionsOnly: true}); err == nil {
		t.Error("no accounts, and sessions only")
	}
}
