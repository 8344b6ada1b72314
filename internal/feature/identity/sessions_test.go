package identity

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"seckill/internal/authtoken"
	"seckill/internal/feature/identity/issuers"
	"seckill/internal/order"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// fakeAccounts has one account, or fails.
type fakeAccounts struct {
	asked atomic.Int64
	again int64 // how often the account was made again
	err   error
}

func (f *fakeAccounts) Account(context.Context, string, string) (int64, error) {
	f.asked.Add(1)
	return firstAccount + 5 + f.again, f.err
}

// newSessions are those of somebody who signed in a minute ago.
func newSessions(accounts *fakeAccounts, rules authtoken.Rules, signedIn time.Time) *Sessions {
	rules.Secret, rules.Accounts = []byte("0123456789abcdef0123456789abcdef"), true
	s := NewSessions(&issuers.Verifier{}, accounts.Account, &Void{}, rules, 8*time.Hour,
		func() time.Time { return noon },
		slog.New(slog.DiscardHandler))
	s.verify = func(context.Context, string) (issuers.Person, error) {
		return issuers.Person{Issuer: "i", Subject: "s", SignedIn: signedIn, Level: 3, Since: noon.Add(-time.Hour)}, nil
	}
	return s
}

// A session says of its user what the provider said, and lives as long as the setting and the bound of all tokens let
// it.
func TestExchange(t *testing.T) {
	t.Parallel()
	signedIn := noon.Add(-time.Minute)
	for name, tc := range map[string]struct {
		maxLife, want time.Duration // from noon; 0: refused
	}{
		"without a bound":     {0, 8 * time.Hour},
		"with a longer one":   {24 * time.Hour, 8 * time.Hour},
		"with a shorter one":  {time.Hour, 59 * time.Minute},
		"signed in too early": {time.Minute, 0},
	} {
		s := newSessions(&fakeAccounts{}, authtoken.Rules{MaxLife: tc.maxLife}, signedIn)
		got, err := s.Exchange(t.Context(), "a.b.c", ForShop)
		if tc.want == 0 {
			if !errors.Is(err, issuers.ErrRefused) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil || got.UserID != firstAccount+5 || !got.Expires.Equal(noon.Add(tc.want)) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		v, err := authtoken.NewVerifier(s.rules)
		if err != nil {
			t.Fatal(err)
		}
		who, err := v.Verify(got.Token, noon)
		if err != nil || who.UserID != got.UserID || who.Role != "" || !who.Issued.Equal(signedIn) || who.Level != 3 ||
			!who.Since.Equal(noon.Add(-time.Hour)) || !who.Expires.Equal(got.Expires) {
			t.Errorf("%s: the token says %+v, %v", name, who, err)
		}
	}
}

// The ledger is asked once for a user, so that those who were here before sign in while it is away.
func TestAccountsAreRemembered(t *testing.T) {
	t.Parallel()
	ledger := &fakeAccounts{err: order.ErrUnavailable}
	s := newSessions(ledger, authtoken.Rules{}, noon)
	if _, err := s.Exchange(t.Context(), "a.b.c", ForShop); !errors.Is(err, order.ErrUnavailable) {
		t.Errorf("the ledger is away: %v", err)
	}
	ledger.err = nil
	for range 3 {
		if _, err := s.Exchange(t.Context(), "a.b.c", ForShop); err != nil {
			t.Error(err)
		}
	}
	ledger.err = order.ErrUnavailable
	if _, err := s.Exchange(t.Context(), "a.b.c", ForShop); err != nil || ledger.asked.Load() != 2 {
		t.Errorf("away again: %v, asked %d times", err, ledger.asked.Load())
	}
}

// Somebody who was forgotten, and signs in again, gets the number of their new account, on this instance as on others.
func TestForgottenAccountsAreNotRemembered(t *testing.T) {
	t.Parallel()
	ledger := &fakeAccounts{}
	s := newSessions(ledger, authtoken.Rules{}, noon)
	if _, err := s.Exchange(t.Context(), "a.b.c", ForShop); err != nil {
		t.Fatal(err)
	}
	ledger.again = 1
	s.void.Tell(Users{First: firstAccount + 5, Last: firstAccount + 5, Before: noon.Add(-2 * time.Minute)})
	for range 2 {
		got, err := s.Exchange(t.Context(), "a.b.c", ForShop)
		if err != nil || got.UserID != firstAccount+6 || ledger.asked.Load() != 2 {
			t.Errorf("user %d, %v, asked %d times", got.UserID, err, ledger.asked.Load())
		}
	}
	entry, ok := s.users.GetEntry(account{"i", "s"})
	if !ok || entry.ExpiresAfter() > rememberedFor || rememberedFor >= KeepVoid {
		t.Errorf("an account is remembered for %s, and that it was forgotten for %s", entry.ExpiresAfter(), KeepVoid)
	}
}

// A sign-out covers a provider's token whose clock is up to a minute ahead, the same one again too, and the session of
// such a token; a later sign-in holds.
func TestVoidTokensAreNotExchanged(t *testing.T) {
	t.Parallel()
	for ahead, want := range map[time.Duration]bool{
		-time.Minute: false, -time.Second: false, 0: false, time.Second: false, 59 * time.Second: false,
		time.Minute: false, time.Minute + time.Second: true, time.Hour: true,
	} {
		s := newSessions(&fakeAccounts{}, authtoken.Rules{}, noon.Add(ahead))
		early, err := s.Exchange(t.Context(), "a.b.c", ForShop)
		if err != nil {
			t.Fatal(err)
		}
		v, err := authtoken.NewVerifier(s.rules)
		if err != nil {
			t.Fatal(err)
		}
		who, err := v.Verify(early.Token, noon)
		if err != nil {
			t.Fatal(err)
		}
		s.void.Tell(Users{First: firstAccount + 5, Last: firstAccount + 5, Before: noon})
		if !who.Session || !s.void.Covers(who.UserID, who.Issued) {
			t.Errorf("%s ahead: the session survives: %+v", ahead, who)
		}
		_, err = s.Exchange(t.Context(), "a.b.c", ForShop)
		if refused := errors.Is(err, issuers.ErrRefused) && errors.Is(err, ErrSignedOut); refused == want {
			t.Errorf("%s ahead, exchanged again: %v", ahead, err)
		}
	}
}

// While a provider hangs, a bounded number of callers wait for it; the others are answered at once.
func TestSignInsAreBounded(t *testing.T) {
	t.Parallel()
	s := newSessions(&fakeAccounts{}, authtoken.Rules{}, noon)
	hang := make(chan struct{})
	var inside sync.WaitGroup
	inside.Add(atOnce)
	verify := s.verify
	s.verify = func(ctx context.Context, token string) (issuers.Person, error) {
		inside.Done()
		<-hang
		return verify(ctx, token)
	}
	var all sync.WaitGroup
	for range atOnce {
		all.Go(func() {
			if _, err := s.Exchange(t.Context(), "a.b.c", ForShop); err != nil {
				t.Error(err)
			}
		})
	}
	inside.Wait()
	if _, err := s.Exchange(t.Context(), "a.b.c", ForShop); !errors.Is(err, ErrManySignIns) ||
		!errors.Is(err, order.ErrUnavailable) {
		t.Errorf("one more: %v", err)
	}
	close(hang)
	all.Wait()
	s.verify = verify
	if _, err := s.Exchange(t.Context(), "a.b.c", ForShop); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}
