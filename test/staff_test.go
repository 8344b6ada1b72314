package test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"seckill/internal/authtoken"
	"seckill/internal/testkit"
	"seckill/internal/testkit/idp"
	"seckill/test/box"
)

// mall is what a file of issuers says of a provider whose groups make the staff of a mall.
func mall() map[string]any {
	return map[string]any{"staff": map[string]any{
		"claim": "groups",
		"admin": []string{"ops"}, "merchant": []string{"owners"}, "till": []string{"tills", "owners"},
		"shopClaim": "groups", "shops": map[string]int{"north": 3, "south": 4},
	}}
}

// Staff sign in by the provider's groups, for what they need: an admin creates, a merchant sees their shop, and a till
// stands in it. They are buyers wherever they do not say so, and for an hour.
func TestStaffOfProvider(t *testing.T) {
	t.Parallel()
	provider := idp.Start(t)
	_, prefix := testkit.Redis(t)
	dsn := testkit.MySQL(t)
	site := box.EmptySite(t, testkit.RedisAddr(t), prefix, dsn)
	site.Add(t, testkit.RedisAddr(t), dsn, map[string]string{
		"SECKILL_ISSUERS": provider.File(t, mall()), "SECKILL_JWT_ADMIN_SECRET": adminSecret,
	})
	site.Start(t)
	as := func(groups ...string) string {
		return provider.Token(t, "of "+strings.Join(groups, " "),
			map[string]any{"groups": groups, "role": "admin", "shop": 3})
	}
	exchange := func(purpose, token string) (session, string) {
		t.Helper()
		r, err := site.Client.Do(t.Context(), box.Request{
			Method: http.MethodPost, URL: site.URL("/session"), Body: map[string]string{"token": token, "for": purpose},
		})
		if err != nil {
			t.Fatal(err)
		}
		if r.StatusCode != http.StatusCreated {
			return session{}, fmt.Sprintf("%d %s", r.StatusCode, r.Code)
		}
		return box.Decode[session](t, r), "201"
	}
	expect := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s is answered %s, want %s", what, got, want)
		}
	}
	draft := box.SeckillDraft(3, 5, time.Now(), time.Now().Add(time.Hour))

	admin, got := exchange("console", as("ops"))
	expect("an admin", got, "201")
	if left := time.Until(admin.ValidUntil); left < 58*time.Minute || left > time.Hour {
		t.Errorf("an admin is signed in for %v", left)
	}
	expect("creating a sale", call(t, site, 0, http.MethodPost, "/voucher/seckill", admin.Token, draft), "201")
	expect("an admin's dead letters", call(t, site, 0, http.MethodGet, "/admin/deadletter", admin.Token, nil), "200")
	buying, _ := exchange("shop", as("ops"))
	if buying.UserID != admin.UserID {
		t.Errorf("an admin is user %d, and %d as a buyer", admin.UserID, buying.UserID)
	}
	expect("an admin who came to buy", call(t, site, 0, http.MethodGet, "/admin/order", buying.Token, nil),
		"403 FORBIDDEN")

	owner, got := exchange("console", as("owners", "south"))
	expect("a merchant", got, "201")
	expect("creating in another shop", call(t, site, 0, http.MethodPost, "/voucher/seckill", owner.Token, draft),
		"404 NOT_FOUND")
	draft["shopId"] = 4
	expect("creating in their shop", call(t, site, 0, http.MethodPost, "/voucher/seckill", owner.Token, draft), "201")
	expect("a merchant's dead letters", call(t, site, 0, http.MethodGet, "/admin/deadletter", owner.Token, nil),
		"403 FORBIDDEN")
	for path, want := range map[string]string{
		"/admin/audit":     `"account":{"issuer":"` + provider.Issuer() + `","subject":"of owners south"}`,
		"/admin/audit.csv": "," + provider.Issuer() + ",of owners south,",
	} {
		for name, token := range map[string]string{"an admin": admin.Token, "the merchant": owner.Token} {
			r, err := site.Client.Do(t.Context(),
				box.Request{Method: http.MethodGet, URL: site.URL(path), Token: token})
			if err != nil {
				t.Fatal(err)
			}
			trail := string(r.Body)
			if !strings.Contains(trail, want) || strings.Contains(trail, "of ops") != (name == "an admin") {
				t.Errorf("%s of %s: %d %s", path, name, r.StatusCode, trail)
			}
		}
	}
	till, got := exchange("till", as("owners", "south"))
	expect("a merchant at a till", got, "201")
	code := map[string]string{"code": "0000-0000-0000-0000"}
	expect("a code that is none", call(t, site, 0, http.MethodPost, "/till/validate", till.Token, code),
		"404 COUPON_NOT_FOUND")
	expect("a till at the console", call(t, site, 0, http.MethodGet, "/admin/order", till.Token, nil), "403 FORBIDDEN")

	for what, refused := range map[string][2]string{
		"a buyer at the console":  {"console", as()},
		"a buyer at a till":       {"till", as("x", "OPS", "ops ", "admin")},
		"a till at the console":   {"console", as("tills", "north")},
		"a merchant of two shops": {"console", as("owners", "north", "south")},
		"a merchant of no shop":   {"console", as("owners")},
		"an admin at a till":      {"till", as("ops")},
	} {
		_, got := exchange(refused[0], refused[1])
		expect(what, got, "403 FORBIDDEN")
	}
	_, got = exchange("admin", as("ops"))
	expect("a purpose that is none", got, "400 INVALID")
	_, got = exchange("console", provider.Token(t, "late", map[string]any{
		"groups": "ops", "iat": time.Now().Add(-61 * time.Minute).Unix(),
	}))
	expect("an admin who signed in an hour ago", got, "401 UNAUTHENTICATED")
	shared := box.Claims(admin.UserID, "admin")
	shared["via"] = "session"
	expect("an admin's session by the buyers' secret",
		call(t, site, 0, http.MethodGet, "/admin/order", box.Sign(box.Secret, shared), nil), "401 UNAUTHENTICATED")
	for _, want := range []string{"staff signed in", "owners south"} {
		if !strings.Contains(site.Servers[0].Log.String(), want) {
			t.Errorf("the log does not say who of the provider became staff: no %q", want)
		}
	}
}

// A provider that nobody named for staff makes none, whatever its tokens say.
func TestNoStaffWithoutNames(t *testing.T) {
	t.Parallel()
	site, provider := sessionSite(t)
	for n, claims := range []map[string]any{
		{"role": "admin"},
		{"roles": []string{"admin", "merchant", "till"}, "shop": 1},
		{"groups": "ops", "shops": "any"},
		{"staff": map[string]any{"claim": "sub", "admin": []string{"eve"}}},
		{"via": "session", "role": "merchant", "shop": 1},
		{"role": "crowd", "voucher": 1},
		{"scope": "admin", "admin": true, "is_admin": 1},
		{"realm_access": map[string]any{"roles": []string{"admin"}}, "cognito:groups": []string{"admin"}},
	} {
		token := provider.Token(t, "eve", claims)
		for _, purpose := range []string{"console", "till"} {
			body := map[string]string{"token": token, "for": purpose}
			if got := call(t, site, 0, http.MethodPost, "/session", "", body); got != "403 FORBIDDEN" {
				t.Errorf("%v for the %s: %s", claims, purpose, got)
			}
		}
		eve := signIn(t, site, n%2, token)
		if got := call(t, site, 0, http.MethodGet, "/admin/order", eve.Token, nil); got != "403 FORBIDDEN" {
			t.Errorf("%v is an admin's: %s", claims, got)
		}
		v, err := authtoken.NewVerifier(authtoken.Rules{Secret: []byte(box.Secret), Accounts: true})
		if err != nil {
			t.Fatal(err)
		}
		who, err := v.Verify(eve.Token, time.Now())
		if err != nil || who.Role != authtoken.RoleBuyer || who.Shop != 0 || who.Crowd != 0 {
			t.Errorf("%v: %+v, %v", claims, who, err)
		}
	}
}

// A revoked account buys nothing two seconds later, at any instance.
func TestRevokedBuyNothing(t *testing.T) {
	t.Parallel()
	site, provider := sessionSite(t)
	free := box.Decode[box.Voucher](t, site.Client.Must(t, http.StatusCreated, box.Request{
		Method: http.MethodPost, URL: site.URL("/voucher"), Token: box.AdminToken(),
		Body: map[string]any{"shopId": 1, "title": "Any number", "payValue": 0, "actualValue": 100},
	}))
	alice, bob := signIn(t, site, 0, provider.Token(t, "alice", nil)), signIn(t, site, 1, provider.Token(t, "bob", nil))
	buy := func(instance int, who session) string {
		return call(t, site, instance, http.MethodPost, fmt.Sprintf("/voucher/buy/%d", free.ID), who.Token, nil)
	}
	for i := range site.Servers {
		if got := buy(i, alice); got != "201" {
			t.Fatalf("before: %s", got)
		}
	}
	got := box.Command(t, site.Servers[0].Settings,
		"session", "revoke", "-user", fmt.Sprint(alice.UserID), "-why", "a stolen phone")
	revoked := time.Now()
	if got.Code != 0 {
		t.Fatalf("revoking: %d\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
	for i := range site.Servers {
		for {
			began := time.Now()
			got := buy(i, alice)
			if got == "401 UNAUTHENTICATED" {
				t.Logf("instance %d refuses after %v", i, time.Since(revoked))
				break
			}
			if began.Sub(revoked) > 2*time.Second {
				t.Fatalf("instance %d answers %s, %v after the revoking", i, got, began.Sub(revoked))
			}
		}
		if got := buy(i, bob); got != "201" {
			t.Errorf("somebody else: %s", got)
		}
	}
}

// A file that makes staff wants a secret for them, and says so at the start.
func TestStaffWantsSecret(t *testing.T) {
	t.Parallel()
	file := idp.Start(t).File(t, mall())
	got := box.Command(t, map[string]string{
		"SECKILL_ISSUERS": file, "SECKILL_JWT_SECRET": box.Secret, "SECKILL_DATA_DIR": t.TempDir(),
		"SECKILL_HTTP_ADDR": "127.0.0.1:0",
	}, "serve")
	if got.Code != 2 || !strings.Contains(got.Stderr, "SECKILL_JWT_ADMIN_SECRET") {
		t.Errorf("exit code %d\n%s", got.Code, got.Stderr)
	}
}
