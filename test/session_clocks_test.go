package test

import (
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"time"

	"seckill/internal/testkit"
	"seckill/internal/testkit/idp"
	"seckill/test/box"
)

// signers are those who sign callers' tokens.
type signers struct {
	t        *testing.T
	site     *box.Site
	provider *idp.Provider
	users    int64
}

// caller is somebody with a token whose signer's clock differs from the service's.
type caller struct {
	name   string
	user   int64
	token  string
	theirs string // the provider's token that became theirs; "" for a direct token
	staff  bool
}

// direct returns a caller whose token the shop signed itself.
func (s *signers) direct(ahead time.Duration, staff bool) caller {
	s.users++
	c := caller{name: fmt.Sprintf("direct, staff %t, %s ahead", staff, ahead), user: 7000 + s.users, staff: staff}
	role, secret := "", box.Secret
	if staff {
		role, secret = "admin", adminSecret
	}
	claims := box.Claims(c.user, role)
	claims["iat"] = time.Now().Add(ahead).Unix()
	c.token = box.Sign(secret, claims)
	return c
}

// exchanged returns a caller who comes with a provider's token, and how its exchange is answered.
func (s *signers) exchanged(ahead time.Duration, staff bool) (caller, string) {
	s.users++
	c := caller{name: fmt.Sprintf("exchanged, staff %t, %s ahead", staff, ahead), staff: staff}
	claims := map[string]any{"iat": time.Now().Add(ahead).Unix()}
	if staff {
		claims["groups"] = []string{"ops"}
	}
	c.theirs = s.provider.Token(s.t, strconv.FormatInt(s.users, 10), claims)
	answer := s.exchange(&c)
	return c, answer
}

// exchange exchanges the provider's token of a caller at the first instance.
func (s *signers) exchange(c *caller) string {
	s.t.Helper()
	purpose := "shop"
	if c.staff {
		purpose = "console"
	}
	r, err := s.site.Client.Do(s.t.Context(), box.Request{
		Method: http.MethodPost, URL: s.site.URL("/session"),
		Body: map[string]string{"token": c.theirs, "for": purpose},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	if r.StatusCode != http.StatusCreated {
		return fmt.Sprintf("%d, again after %q s", r.StatusCode, r.Header.Get("Retry-After"))
	}
	signed := box.Decode[session](s.t, r)
	c.user, c.token = signed.UserID, signed.Token
	return "201"
}

// uses returns how an instance answers a caller.
func (s *signers) uses(instance int, c caller) string {
	path := "/order"
	if c.staff {
		path = "/admin/order"
	}
	return call(s.t, s.site, instance, http.MethodGet, path, c.token, nil)
}

// callers returns one of each kind for each clock that is at most a minute ahead, and expects that the service believes
// no other.
func (s *signers) callers() (all []caller) {
	s.t.Helper()
	for _, ahead := range []time.Duration{
		-time.Minute, -time.Second, 0, time.Second, 30 * time.Second, 59 * time.Second, 10 * time.Minute, time.Hour,
	} {
		for _, staff := range []bool{false, true} {
			want := [2]string{"200", "201"}
			if ahead > time.Minute {
				want = [2]string{"401 UNAUTHENTICATED", `401, again after "" s`}
			}
			direct := s.direct(ahead, staff)
			if got := s.uses(0, direct); got != want[0] {
				s.t.Errorf("%s: %s, want %s", direct.name, got, want[0])
			}
			exchanged, got := s.exchanged(ahead, staff)
			if got != want[1] {
				s.t.Errorf("%s: %s, want %s", exchanged.name, got, want[1])
			}
			if ahead <= time.Minute {
				all = append(all, direct, exchanged)
			}
		}
	}
	return all
}

// A sign-out and a revocation cover every token from before them, whoever signed it, if the signer's clock is up to a
// minute ahead. No token is valid whose signer's clock is further ahead. The provider's token that was exchanged before
// is not exchanged again, and its user is told when to come with another.
func TestSignOutsCoverClocks(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*signers, caller){
		"signed out": func(s *signers, c caller) {
			if got := call(s.t, s.site, 0, http.MethodPost, "/session/end", c.token, nil); got != "200" {
				s.t.Errorf("%s signs out: %s", c.name, got)
			}
		},
		"revoked": func(s *signers, c caller) {
			got := box.Command(s.t, s.site.Servers[0].Settings,
				"session", "revoke", "-user", strconv.FormatInt(c.user, 10), "-why", "a stolen phone")
			if got.Code != 0 {
				s.t.Errorf("%s is revoked: exit code %d\n%s%s", c.name, got.Code, got.Stdout, got.Stderr)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSigners(t)
			bystander := s.direct(0, false)
			all := s.callers()
			for _, c := range all {
				end(s, c)
			}
			for _, c := range all {
				for i := range s.site.Servers {
					s.awaitRefused(i, c)
				}
				if c.theirs == "" {
					continue
				}
				again := c
				if got, want := s.exchange(&again), `401, again after "60" s`; got != want {
					t.Errorf("%s, exchanged again: %s, want %s", c.name, got, want)
				}
			}
			if got := s.uses(0, bystander); got != "200" {
				t.Errorf("somebody else: %s", got)
			}
		})
	}
}

// newSigners starts two instances that believe a provider, its staff included.
func newSigners(t *testing.T) *signers {
	t.Helper()
	s := &signers{t: t, provider: idp.Start(t)}
	_, prefix := testkit.Redis(t)
	dsn := testkit.MySQL(t)
	s.site = box.EmptySite(t, testkit.RedisAddr(t), prefix, dsn)
	file := s.provider.File(t, mall())
	for range 2 {
		s.site.Add(t, testkit.RedisAddr(t), dsn, map[string]string{
			"SECKILL_ISSUERS": file, "SECKILL_JWT_ADMIN_SECRET": adminSecret, "SECKILL_SESSION_RATE": "0",
		})
	}
	s.site.Start(t)
	return s
}

// awaitRefused waits until an instance refuses a caller, which takes two seconds at most, on a busy machine some more.
func (s *signers) awaitRefused(instance int, c caller) {
	s.t.Helper()
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		got := s.uses(instance, c)
		if got == "401 UNAUTHENTICATED" {
			return
		}
		if time.Since(began) > 6*time.Second {
			s.t.Errorf("%s is answered %s by instance %d", c.name, got, instance)
			return
		}
	}
}
