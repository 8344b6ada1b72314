package identity

import (
	"flag"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/kit/cmdline"
	"seckill/internal/testkit/ledgertest"
	"seckill/internal/voucher"
)

// How many users sign in for the first time in TestOneAccountEach: make -C lab accounts SUBJECTS=….
var subjectsFlag = flag.Int("subjects", 40, "how many users sign in for the first time at once")

// Instances that see subjects for the first time at once make one account of each.
func TestOneAccountEach(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) {
		const instances = 8
		subjects := *subjectsFlag
		got := make([]map[string]int64, instances)
		var all sync.WaitGroup
		for i := range instances {
			got[i] = map[string]int64{}
			ledger := NewLedger(l.DB())
			all.Go(func() {
				for n := range subjects {
					key := fmt.Sprintf("issuer %d|subject %d", n%3, n)
					id, err := ledger.Account(t.Context(), fmt.Sprintf("issuer %d", n%3), fmt.Sprintf("subject %d", n))
					if err != nil || id <= voucher.FirstAccount || id > voucher.LastAccount {
						t.Errorf("%s: %d, %v", key, id, err)
					}
					got[i][key] = id
				}
			})
		}
		all.Wait()
		ids := map[int64]bool{}
		for key, id := range got[0] {
			ids[id] = true
			for i := range instances {
				if got[i][key] != id {
					t.Errorf("%s is %d and %d", key, id, got[i][key])
				}
			}
		}
		if n := l.Number(t, "SELECT COUNT(*) FROM tb_account"); n != int64(subjects) || len(ids) != subjects {
			t.Errorf("%d accounts, %d ids; want %d", n, len(ids), subjects)
		}
	})
}

// Subjects that differ in a trailing space or in case alone are different users.
func TestSubjectsAreBytes(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) {
		ledger, ids := NewLedger(l.DB()), map[int64]string{}
		for _, subject := range []string{"alice", "alice ", "Alice", "alic\u00e9", "alice\x00"} {
			id, err := ledger.Account(t.Context(), "issuer", subject)
			if err != nil || ids[id] != "" {
				t.Errorf("%q: %d is also %q, %v", subject, id, ids[id], err)
			}
			ids[id] = subject
		}
	})
}

// What is revoked is read by a loader, an issuer's users are within its range alone, and later sign-ins hold.
func TestRevoked(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) {
		ledger := NewLedger(l.DB())
		mine, err := ledger.Account(t.Context(), "mine", "1")
		if err != nil {
			t.Fatal(err)
		}
		other, err := ledger.Account(t.Context(), "other", "1")
		if err != nil {
			t.Fatal(err)
		}
		first, last, known, err := ledger.Issuer(t.Context(), "mine")
		if err != nil || !known || mine < first || mine > last || other >= first && other <= last {
			t.Fatalf("%d to %d (%t, %v) of %d and %d", first, last, known, err, mine, other)
		}
		var users Users
		for range 2 { // repeated after a lost answer
			if users, err = ledger.Revoke(t.Context(), first, last); err != nil {
				t.Fatal(err)
			}
		}
		one, err := ledger.Revoke(t.Context(), 42, 42)
		if err != nil {
			t.Fatal(err)
		}
		void := &Void{}
		now := func() time.Time { return users.At }
		if err := NewVoidLoader(void, ledger, now, l.DB().Log()).load(t.Context()); err != nil {
			t.Fatal(err)
		}
		for name, tc := range map[string]struct {
			user     int64
			signedIn time.Time
			want     bool
		}{
			"of the issuer":          {mine, users.Before, true},
			"of the issuer, unknown": {mine, time.Time{}, true},
			"of the issuer, later":   {mine, users.Before.Add(time.Second), false},
			"of another issuer":      {other, users.Before, false},
			"the user":               {42, one.Before, true},
			"the next user":          {43, one.Before, false},
		} {
			if got := void.Covers(tc.user, tc.signedIn); got != tc.want {
				t.Errorf("%s: void %t, want %t", name, got, tc.want)
			}
		}
	})
}

// What no session depends on is removed; what other tokens depend on stays.
func TestVoidRowsAreForgotten(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) {
		ledger := NewLedger(l.DB())
		for _, user := range []int64{42, firstAccount, firstAccount + 1} {
			if _, err := ledger.Revoke(t.Context(), user, user); err != nil {
				t.Fatal(err)
			}
		}
		if err := ledger.ForgetVoid(t.Context(), KeepVoid, 10); err != nil {
			t.Fatal(err)
		}
		if n := l.Number(t, "SELECT COUNT(*) FROM tb_session_void"); n != 3 {
			t.Errorf("%d rows are left while all are young", n)
		}
		for want := int64(2); want > 0; want-- {
			if err := ledger.ForgetVoid(t.Context(), -time.Second, 1); err != nil {
				t.Fatal(err)
			}
			if n := l.Number(t, "SELECT COUNT(*) FROM tb_session_void"); n != want {
				t.Errorf("%d rows are left, want %d", n, want)
			}
		}
		if n := l.Number(t, "SELECT COUNT(*) FROM tb_session_void WHERE first_user = 42"); n != 1 {
			t.Error("a row of a user with other tokens is gone")
		}
	})
}

// The command's act is in the audit trail before it is done, and an issuer that nobody has signed in by is named.
func TestRevokeIsAudited(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) {
		ledger := NewLedger(l.DB())
		set := flag.NewFlagSet("", flag.ContinueOnError)
		trail := cmdline.TrailFlags(cmdline.Env{Environ: []string{"USER=ann"}}, set)
		if err := set.Parse([]string{"-why", "lost phone"}); err != nil {
			t.Fatal(err)
		}
		of := func(user int64, issuer string, numeric bool) error {
			_, err := revoke(t.Context(), ledger, l.Note, revoked{user, issuer, numeric}, trail)
			return err
		}
		if err := of(0, "https://nobody", false); err == nil {
			t.Error("an issuer that nobody has signed in by: no error")
		}
		if _, err := ledger.Account(t.Context(), "https://some", "1"); err != nil {
			t.Fatal(err)
		}
		for user, issuer := range map[int64]string{42: "", 0: "https://some"} {
			if err := of(user, issuer, false); err != nil {
				t.Fatal(err)
			}
		}
		if err := of(0, "https://numbers", true); err != nil { // nobody of it has an account
			t.Fatal(err)
		}
		const numbers = "SELECT COUNT(*) FROM tb_session_void WHERE first_user = 1 AND last_user = 4503599627370495"
		if n := l.Number(t, numbers); n != 1 {
			t.Error("a numeric issuer's users are not void")
		}
		all, err := l.Entries(t.Context(), voucher.AuditFilter{}, math.MaxInt64, 10)
		if err != nil || len(all) != 3 {
			t.Fatalf("%+v, %v", all, err)
		}
		whose := map[string]bool{}
		for _, e := range all {
			if e.Action != voucher.Revoked || len(e.Changes) != 3 || e.Changes[1].To != "ann" ||
				e.Changes[2].To != "lost phone" {
				t.Errorf("%+v", e)
				continue
			}
			whose[e.Changes[0].Field+" "+e.Changes[0].To] = true
		}
		if !whose["user 42"] || !whose["issuer https://some"] ||
			!whose["issuer https://numbers"] {
			t.Errorf("of whom: %v", whose)
		}
	})
}

// Accounts are named by issuer and subject; other users are not, and nobody who does not exist.
func TestAccounts(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) {
		ledger := NewLedger(l.DB())
		want := map[int64]voucher.Account{}
		ids := []int64{0, 1, 42, voucher.LastAccount, voucher.FirstRehearsalUser}
		for _, a := range []voucher.Account{{Issuer: "https://a", Subject: "x"}, {Issuer: "https://b", Subject: "x "}} {
			id, err := ledger.Account(t.Context(), a.Issuer, a.Subject)
			if err != nil {
				t.Fatal(err)
			}
			want[id], ids = a, append(ids, id, id)
		}
		got, err := ledger.Accounts(t.Context(), ids)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
		if got, err = ledger.Accounts(t.Context(), ids[:3]); err != nil || len(got) != 0 {
			t.Errorf("of other users: %v, %v", got, err)
		}
	})
}
