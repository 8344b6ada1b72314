package test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"seckill/internal/testkit"
	"seckill/internal/testkit/idp"
	"seckill/internal/voucher"
	"seckill/test/box"
)

// Users of a numeric issuer keep their numbers, and nobody else may give one to a buyer: no token that is signed
// directly, no account's number, no other writing of a number. Staff of the same issuer are accounts.
func TestNumericIssuer(t *testing.T) {
	t.Parallel()
	provider := idp.Start(t)
	entry := mall()
	entry["numeric"] = true
	_, prefix := testkit.Redis(t)
	dsn := testkit.MySQL(t)
	site := box.EmptySite(t, testkit.RedisAddr(t), prefix, dsn)
	for range 2 {
		site.Add(t, testkit.RedisAddr(t), dsn, map[string]string{
			"SECKILL_ISSUERS": provider.File(t, entry), "SECKILL_JWT_DIRECT": "false",
			"SECKILL_JWT_ADMIN_SECRET": adminSecret,
		})
	}
	site.Start(t)
	admin := box.Sign(adminSecret, box.Claims(1, "admin"))
	created := site.Client.Must(t, http.StatusCreated, box.Request{
		Method: http.MethodPost, URL: site.URL("/voucher/seckill"), Token: admin,
		Body: box.SeckillDraft(3, 5, time.Now().Add(-time.Minute), time.Now().Add(time.Hour)),
	})
	sale := fmt.Sprintf("/voucher/seckill/%d", box.Decode[box.Voucher](t, created).ID)
	buy := func(instance int, token string) string {
		return call(t, site, instance, http.MethodPost, sale, token, nil)
	}
	expect := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s is answered %s, want %s", what, got, want)
		}
	}
	const refused = "401 UNAUTHENTICATED"

	alice := signIn(t, site, 0, provider.Token(t, "42", nil))
	again := signIn(t, site, 1, provider.Token(t, "42", nil))
	last := signIn(t, site, 1, provider.Token(t, fmt.Sprint(voucher.FirstAccount-1), nil))
	if alice.UserID != 42 || again.UserID != 42 || last.UserID != voucher.FirstAccount-1 {
		t.Fatalf("they are users %d, %d and %d", alice.UserID, again.UserID, last.UserID)
	}
	box.Eventually(t, "a sale that is open", func() error {
		if got := buy(0, alice.Token); got != "202" {
			return fmt.Errorf("%s", got)
		}
		return nil
	})
	expect("the same number at the other instance", buy(1, again.Token), "409 ALREADY_BOUGHT")
	expect("the last number", buy(1, last.Token), "202")
	expect("a number in a token of somebody else", buy(0, box.BuyerToken(43)), refused)
	expect("alice's in one", buy(0, box.BuyerToken(42)), refused)
	expect("an account's in one", buy(0, box.BuyerToken(voucher.FirstAccount)), refused)
	for _, subject := range []string{fmt.Sprint(voucher.FirstAccount), "8000000000000001", "042", "-1", "0", "alice"} {
		body := map[string]string{"token": provider.Token(t, subject, nil)}
		expect("the subject "+subject, call(t, site, 0, http.MethodPost, "/session", "", body), refused)
	}
	boss := box.Decode[session](t, site.Client.Must(t, http.StatusCreated, box.Request{
		Method: http.MethodPost, URL: site.URL("/session"),
		Body: map[string]string{"token": provider.Token(t, "7", map[string]any{"groups": "ops"}), "for": "console"},
	}))
	if boss.UserID < voucher.FirstAccount || boss.UserID > voucher.LastAccount {
		t.Errorf("an admin of the provider is user %d, as somebody with the admins' secret may be", boss.UserID)
	}
	expect("their console", call(t, site, 1, http.MethodGet, "/admin/order", boss.Token, nil), "200")
	expect("an admin by the secret", call(t, site, 1, http.MethodGet, "/admin/order", admin, nil), "200")

	settings := site.Servers[0].Settings
	if got := box.Command(t, settings, "token", "-user", "43"); got.Code == 0 ||
		!strings.Contains(got.Stderr, "SECKILL_JWT_DIRECT") {
		t.Errorf("server token makes a buyer's: %d\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
	if got := box.Command(t, settings, "token", "-user", "1", "-role", "admin"); got.Code != 0 {
		t.Errorf("server token makes no admin's: %d\n%s", got.Code, got.Stderr)
	}
	got := box.Command(t, settings, "session", "revoke", "-issuer", provider.Issuer(), "-why", "a leak")
	if got.Code != 0 {
		t.Fatalf("revoking: %d\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
	for _, token := range []string{alice.Token, last.Token, boss.Token} {
		awaitVoid(t, site, token)
	}
}

// Two sources of numbers are refused at the start, and by the check before a sale.
func TestOneSourceOfNumbers(t *testing.T) {
	t.Parallel()
	file := idp.Start(t).File(t, map[string]any{"numeric": true})
	stores := map[string]string{
		"SECKILL_REDIS_ADDRS": "127.0.0.1:1", "SECKILL_MYSQL_DSN": "u:p@tcp(127.0.0.1:1)/x",
		"SECKILL_JWT_SECRET": box.Secret, "SECKILL_ISSUERS": file,
	}
	if got := box.Command(t, stores, "check"); got.Code != 2 ||
		!strings.Contains(got.Stderr, "SECKILL_JWT_DIRECT=false") {
		t.Errorf("server check: exit code %d\n%s", got.Code, got.Stderr)
	}
	embedded := map[string]string{"SECKILL_JWT_SECRET": box.Secret, "SECKILL_ISSUERS": file}
	if got := box.Command(t, embedded, "serve"); got.Code != 2 ||
		!strings.Contains(got.Stderr, "SECKILL_JWT_DIRECT=false") {
		t.Errorf("server serve: exit code %d\n%s", got.Code, got.Stderr)
	}
}
