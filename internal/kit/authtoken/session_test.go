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
		token, err := SignSession(rules, tc.account, 3, signedIn, tc.signedIn, tc.until, noon)
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
