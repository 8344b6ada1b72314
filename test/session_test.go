package test

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"seckill/internal/testkit"
	"seckill/internal/testkit/idp"
	"seckill/internal/voucher"
	"seckill/test/box"
)

// session is what POST /session answers.
type session struct {
	UserID     int64     `json:"userId"`
	Token      string    `json:"token"`
	ValidUntil time.Time `json:"validUntil"`
}

// sessionSite is two instances that believe a provider.
func sessionSite(t *testing.T) (*box.Site, *idp.Provider) {
	t.Helper()
	return sessionSiteWith(t, nil)
}

// sessionSiteWith is sessionSite with more settings.
func sessionSiteWith(t *testing.T, settings map[string]string) (*box.Site, *idp.Provider) {
	t.Helper()
	provider := idp.Start(t)
	file := provider.File(t, map[string]any{"claims": map[string]any{"level": "grade"}})
	_, prefix := testkit.Redis(t)
	dsn := testkit.MySQL(t)
	site := box.EmptySite(t, testkit.RedisAddr(t), prefix, dsn)
	for range 2 {
		with := map[string]string{"SECKILL_ISSUERS": file}
		maps.Copy(with, settings)
		site.Add(t, testkit.RedisAddr(t), dsn, with)
	}
	site.Start(t)
	return site, provider
}

// signIn exchanges a provider's token at an instance.
func signIn(t *testing.T, site *box.Site, instance int, token string) session {
	t.Helper()
	r := site.Client.Must(t, http.StatusCreated, box.Request{
		Method: http.MethodPost, URL: site.Servers[instance].URL("/session"), Body: map[string]string{"token": token},
	})
	return box.Decode[session](t, r)
}

// call calls an instance with a token, and returns status and code.
func call(t *testing.T, site *box.Site, instance int, method, path, token string, body any) string {
	t.Helper()
	r, err := site.Client.Do(t.Context(), box.Request{
		Method: method, URL: site.Servers[instance].URL(path), Token: token, Body: body,
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(fmt.Sprintf("%d %s", r.StatusCode, r.Code))
}

// Users of a provider sign in at any instance, are the same user everywhere, buy, and sign out everywhere. The provider
// may be away once its keys are known.
func TestSessions(t *testing.T) {
	t.Parallel()
	site, provider := sessionSite(t)
	sale := fmt.Sprintf("/voucher/seckill/%d", site.CreateSale(t, 100, time.Now().Add(time.Hour)))
	expect := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s is answered %s, want %s", what, got, want)
		}
	}
	theirs := provider.Token(t, "alice", nil)
	alice := signIn(t, site, 0, theirs)
	again := signIn(t, site, 1, theirs)
	bob := signIn(t, site, 1, provider.Token(t, "Alice", nil))
	if alice.UserID < voucher.FirstAccount || alice.UserID > voucher.LastAccount || again.UserID != alice.UserID ||
		bob.UserID == alice.UserID || time.Until(alice.ValidUntil) < 7*time.Hour {
		t.Fatalf("alice is %+v and %+v, bob %+v", alice, again, bob)
	}
	expect("a purchase", call(t, site, 1, http.MethodPost, sale, alice.Token, nil), "202")
	expect("another one", call(t, site, 0, http.MethodPost, sale, again.Token, nil), "409 ALREADY_BOUGHT")
	expect("the purchase of somebody else", call(t, site, 0, http.MethodPost, sale, bob.Token, nil), "202")

	const refused = "401 UNAUTHENTICATED"
	exchange := func(token string) string {
		return call(t, site, 0, http.MethodPost, "/session", "", map[string]string{"token": token})
	}
	expect("the provider's own token", call(t, site, 0, http.MethodPost, sale, theirs, nil), refused)
	expect("exchanging what was exchanged", exchange(alice.Token), refused)
	expect("a token for another service", exchange(provider.Token(t, "alice", map[string]any{"aud": "other"})), refused)
	expect("a token of another provider", exchange(idp.Start(t).Token(t, "alice", nil)), refused)
	expect("an account's number in a token signed by the shop",
		call(t, site, 0, http.MethodGet, "/order", box.BuyerToken(alice.UserID), nil), refused)
	expect("a number of the shop's own", call(t, site, 0, http.MethodGet, "/order", box.BuyerToken(42), nil), "200")

	provider.Break(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	carol := signIn(t, site, 0, provider.Token(t, "carol", nil))
	expect("a purchase while the provider is away", call(t, site, 1, http.MethodPost, sale, carol.Token, nil), "202")

	expect("signing out", call(t, site, 0, http.MethodPost, "/session/end", alice.Token, nil), "200")
	expect("what was signed out, there", call(t, site, 0, http.MethodGet, "/order", alice.Token, nil), refused)
	expect("what was signed out, exchanged again", exchange(theirs), refused)
	awaitVoid(t, site, alice.Token)
	expect("others", call(t, site, 1, http.MethodGet, "/order", bob.Token, nil), "200")

	got := box.Command(t, site.Servers[0].Settings, "session", "revoke", "-issuer", provider.Issuer(), "-why", "a leak")
	if got.Code != 0 {
		t.Fatalf("revoking: %d\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
	awaitVoid(t, site, bob.Token)
	awaitVoid(t, site, carol.Token)
	r := site.Client.Must(t, http.StatusOK,
		box.Request{Method: http.MethodGet, URL: site.URL("/admin/audit"), Token: box.AdminToken()})
	for _, want := range []string{`"revoke"`, provider.Issuer(), "a leak"} {
		if !strings.Contains(string(r.Body), want) {
			t.Errorf("the audit trail does not say %s: %s", want, r.Body)
		}
	}
	metrics := site.Servers[0].Metrics(t)
	for _, want := range []string{
		`seckill_sign_ins_total{outcome="ok"} 2`, `seckill_sign_ins_total{outcome="refused"} 4`,
		"seckill_sessions_void 2",
		`seckill_issuer_keys_age_seconds{issuer="` + provider.Issuer() + `"}`,
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("the metrics have no %s", want)
		}
	}
}

// awaitVoid waits until every instance refuses a token, which takes two seconds at most, on a busy machine some more.
func awaitVoid(t *testing.T, site *box.Site, token string) {
	t.Helper()
	began := time.Now()
	for i := range site.Servers {
		for call(t, site, i, http.MethodGet, "/order", token, nil) == "200" {
			if time.Since(began) > 6*time.Second {
				t.Fatalf("instance %d still takes the token", i)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	t.Logf("void everywhere after %v", time.Since(began))
}

// A file of issuers that is wrong ends the start like wrong settings, and says all that is wrong.
func TestWrongIssuers(t *testing.T) {
	t.Parallel()
	file := idp.Start(t).File(t, map[string]any{"algorithms": []string{"HS256"}, "audience": ""})
	got := box.Command(t, map[string]string{"SECKILL_ISSUERS": file, "SECKILL_JWT_SECRET": box.Secret}, "serve")
	if got.Code != 2 || !strings.Contains(got.Stderr, `"algorithms"`) || !strings.Contains(got.Stderr, `"audience"`) {
		t.Errorf("exit code %d\n%s", got.Code, got.Stderr)
	}
	missing := map[string]string{"SECKILL_ISSUERS": file + ".none", "SECKILL_JWT_SECRET": box.Secret}
	got = box.Command(t, missing, "serve")
	if got.Code != 2 || !strings.Contains(got.Stderr, "SECKILL_ISSUERS") {
		t.Errorf("no file: exit code %d\n%s", got.Code, got.Stderr)
	}
}

// Nothing of it is there without the setting, and nobody is told that a token was revoked that nobody asks about.
func TestNoIssuers(t *testing.T) {
	t.Parallel()
	site := box.EmbeddedSite(t)
	got := call(t, site, 0, http.MethodPost, "/session", "", map[string]string{"token": "x"})
	if got != "404 NOT_FOUND" {
		t.Errorf("signing in is answered %s", got)
	}
	if code, err := site.Servers[0].Terminate(); code != 0 || err != nil { // the data are one process's
		t.Fatal(code, err)
	}
	for _, args := range [][]string{
		{"session"},
		{"session", "revoke"},
		{"session", "revoke", "-user", "1"},
		{"session", "revoke", "-why", "x"},
		{"session", "revoke", "-user", "1", "-issuer", "x", "-why", "x"},
	} {
		if got := box.Command(t, site.Servers[0].Settings, args...); got.Code != 2 {
			t.Errorf("server %v: exit code %d\n%s%s", args, got.Code, got.Stdout, got.Stderr)
		}
	}
	revoked := box.Command(t, site.Servers[0].Settings, "session", "revoke", "-user", "1", "-why", "x")
	if revoked.Code == 0 || !strings.Contains(revoked.Stderr, "SECKILL_ISSUERS") {
		t.Errorf("revoking without a file: exit code %d\n%s", revoked.Code, revoked.Stderr)
	}
}
