package browser

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"seckill/internal/testkit/idp"
	"seckill/test/box"
)

// mall returns a service whose users sign in by a provider: alice buys, olga owns shop 1, ada runs the installation,
// and tim stands at a till.
func mall(t *testing.T) (*shop, *idp.Provider) {
	t.Helper()
	p := idp.Start(t)
	for name, claims := range map[string]map[string]any{
		"alice": nil,
		"olga":  {"groups": []string{"owners", "north"}},
		"ada":   {"groups": "ops"},
		"ida":   {"groups": "ops"},
		"tim":   {"groups": []string{"tills", "north"}},
		"eve":   {"nonce": "of-another-sign-in", "groups": "ops"},
	} {
		p.Enrol(name, claims)
	}
	return realShop(t,
		"SECKILL_ISSUERS", p.File(t, map[string]any{"pages": p.Pages(), "staff": map[string]any{
			"claim": "groups", "admin": []string{"ops"}, "merchant": []string{"owners"}, "till": []string{"tills"},
			"shopClaim": "groups", "shops": map[string]int{"north": 1},
		}}),
		"SECKILL_JWT_ADMIN_SECRET", strings.Repeat("the staff's own secret ", 2)), p
}

// signIn goes to the provider from the page and comes back as somebody.
func (w *window) signIn(name string) {
	w.tb.Helper()
	w.click("[data-act=provider]")
	w.click("#as-" + name)
}

// address returns what the window's address has behind the host.
func (w *window) address() string {
	w.tb.Helper()
	return evaluate[string](w, "location.pathname + location.search + location.hash")
}

// A buyer presses the button, signs in by the provider, and has bought: the page goes on with what was pressed. Signing
// out ends the session, and the provider asks the next time.
func TestBuyerOfProvider(t *testing.T) {
	t.Parallel()
	s, p := mall(t)
	s.offerSeveral("Dumplings", 5, 3)
	small := phone()
	small.width = 360
	w := open(t, s.url("/?shop=1#here"), small)
	w.click("[data-act=more]")
	w.click(button("grab"))
	w.sees("dialog", "Sign in with Mall")
	w.accessible()
	w.picture("buyer-sign-in-provider-phone", false)
	w.signIn("alice")
	w.sees(".orders", "Dumplings")
	w.sees(".orders", "2 ×")
	if got := w.address(); got != "/?shop=1#here" {
		t.Errorf("the address is %s", got)
	}
	token := evaluate[string](w, "localStorage.getItem('seckill.token')")
	kept := evaluate[string](w, "JSON.stringify({...localStorage, ...sessionStorage})")
	if strings.Contains(kept, "verifier") || strings.Contains(kept, "id_token") {
		t.Errorf("the page keeps %s", kept)
	}
	w.press("[data-act=account]")
	w.seesNo(".orders")
	box.Eventually(t, "the end of the session", func() error {
		if got := s.status("/order", token); got != http.StatusUnauthorized {
			return fmt.Errorf("%d", got)
		}
		return nil
	})
	p.Remember("alice")
	w.press("[data-act=account]")
	w.click("[data-act=provider]")
	w.sees("#prompt", "login")
	w.click("#as-nobody")
	w.sees("[data-problem='provider.denied']", "You did not sign in.")
}

// status returns how a GET with a token is answered.
func (s *shop) status(path, token string) int {
	s.tb.Helper()
	request, err := http.NewRequestWithContext(s.tb.Context(), http.MethodGet, s.url(path), nil)
	if err != nil {
		s.tb.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		s.tb.Fatal(err)
	}
	_ = answer.Body.Close() // of it nothing is read
	return answer.StatusCode
}

// A merchant's session ends while they type. They sign in again in a window, and what they typed is saved. A sign-in of
// the minute after the end is refused in words, because the provider's clock may be ahead.
func TestSessionEndsWhileTyping(t *testing.T) {
	t.Parallel()
	s, p := mall(t)
	w := open(t, s.url("/admin#/vouchers"), desktop())
	w.sees(".sign-in", "Sign in with Mall")
	w.accessible()
	w.picture("console-sign-in-provider-desktop", false)
	w.signIn("olga")
	w.sees(".who", "Shop 1")
	w.click("[data-act=create]")
	w.enter("#f-title", "Typed before the end")
	w.enter("#f-payValue", "0")
	w.enter("#f-actualValue", "58")
	w.click("input[name=kind]:not(:checked)")

	token := evaluate[string](w, "sessionStorage.getItem('seckill.admin')")
	s.end(token)
	time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second))) // a token is void by its second
	p.Remember("olga")
	w.click("[data-act=save]")
	w.sees("[aria-labelledby=again-title]", "Nothing on this page is lost")
	w.accessible()
	w.picture("console-sign-in-again-desktop", false)
	w.click("[aria-labelledby=again-title] [data-act=provider]")
	w.sees("[aria-labelledby=again-title] [data-problem]", "in a minute")
	w.accessible()
	w.picture("console-sign-in-again-soon-desktop", false)
	p.Enrol("olga", map[string]any{ // the provider's clock is as far ahead as is let through
		"groups": []string{"owners", "north"}, "iat": time.Now().Add(time.Minute).Unix(),
	})
	w.click("[aria-labelledby=again-title] [data-act=provider]")
	w.seesNo("[aria-labelledby=again-title]")
	w.sees("h1", "Typed before the end")
	if now := evaluate[string](w, "sessionStorage.getItem('seckill.admin')"); now == token {
		t.Error("the token is the old one")
	}
	w.visit(s.url("/admin#/audit"))
	w.sees("tr[data-action=create]", "olga · "+p.Issuer())
	w.accessible()
	w.picture("console-audit-provider-desktop", false)
	w.click("[data-act=save-audit]")
	w.sees("[aria-live]", "Saved.")
}

// end makes the tokens of a token's user void.
func (s *shop) end(token string) {
	s.tb.Helper()
	request, err := http.NewRequestWithContext(s.tb.Context(), http.MethodPost, s.url("/session/end"), nil)
	if err != nil {
		s.tb.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		s.tb.Fatal(err)
	}
	_ = answer.Body.Close() // of it nothing is read
	if answer.StatusCode != http.StatusOK {
		s.tb.Fatalf("ending a session: %d", answer.StatusCode)
	}
}

// Staff sign in where they belong; who does not is told so in words, and may be somebody else.
func TestStaffOfProviderSignIn(t *testing.T) {
	t.Parallel()
	s, _ := mall(t)
	for language, words := range map[string][4]string{
		"en-GB": {"neither an admin's nor a merchant's", "not a till's", "you will be asked who you are", "ada"},
		"zh-CN": {"您的账号不是管理员或商家账号", "您的账号不是收银台账号", "如需使用其他账号", "ida"},
	} {
		w := open(t, s.url("/admin"), desktop().in(language).inDark())
		w.signIn("alice")
		w.sees("[data-problem]", words[0])
		w.sees("[data-problem]", words[2])
		w.accessible()
		w.picture("console-not-staff-desktop-dark-"+language[:2], false)
		w.signIn(words[3])
		w.sees(".places a[href*=deadletters]", "")
		w.click("[data-act=sign-out]")
		w.sees("[data-act=provider]", "")

		till := open(t, s.url("/till"), phone().in(language).inDark())
		till.signIn("olga")
		till.sees("[data-problem]", words[1])
		till.accessible()
		till.picture("till-not-till-phone-dark-"+language[:2], false)
		till.signIn("tim")
		till.sees("#code", "")
		if evaluate[bool](till, "localStorage.getItem('seckill.till') !== null") {
			t.Error("a session outlives the till's tab")
		}
	}
}

// TestProviderAway checks that nobody leaves a page for a provider that does not answer: the page says so, tries again,
// and goes on with what was pressed once the provider is back. If the provider goes away during the sign-in, the page
// that it has led back to says so.
func TestProviderAway(t *testing.T) {
	t.Parallel()
	s, p := mall(t)
	s.onSale("Dumplings", 5)
	narrow := device{name: "narrow", width: 360, height: 740, touch: true}
	w := open(t, s.url("/"), narrow)
	zh := open(t, s.url("/"), desktop().in("zh-CN").inDark())
	console := open(t, s.url("/admin"), desktop())
	p.Stop()
	for _, of := range []struct {
		w     *window
		says  string
		press string
		name  string
	}{
		{w, "Mall does not answer just now", button("grab"), "buyer-provider-away-narrow"},
		{zh, "Mall 暂无应答", button("grab"), "buyer-provider-away-desktop-dark-zh"},
		{console, "Mall does not answer just now", "", "console-provider-away-desktop"},
	} {
		if of.press != "" {
			of.w.click(of.press)
		}
		of.w.click("[data-act=provider]")
		of.w.sees("[data-problem='provider.away']", of.says)
		of.w.accessible()
		of.w.picture(of.name, false)
	}
	w.sees("#announcer", "Mall does not answer")
	// It is said again when the provider was asked once more.
	evaluate[bool](w, "document.querySelector('#announcer').textContent = '', true")
	w.click("[data-act=retry]")
	w.sees("#announcer", "Mall does not answer")
	w.until("document.activeElement.dataset.act === 'retry'") // the focus stays
	p.Resume(t)
	w.click("[data-act=retry]")
	w.click("#as-alice")
	w.sees(".orders", "Dumplings")

	console.click("[data-act=anyway]")
	console.sees("#as-ada", "")
	p.Stop()
	console.click("#as-ada") // a link to the console
	console.sees("[data-problem='provider.away']", "You are still here")
	p.Resume(t)
	console.click("[data-act=retry]")
	console.click("#as-ada")
	console.sees(".places a[href*=deadletters]", "")
}

// An answer of a provider that this tab has not asked for signs nobody in, and leaves the address.
func TestStraySignIns(t *testing.T) {
	t.Parallel()
	s, _ := mall(t)
	w := open(t, s.url("/admin?code=x&state=y#/audit"), desktop())
	w.sees("[data-problem='provider.stray']", "did not begin on this page")
	if got := w.address(); got != "/admin" {
		t.Errorf("the address is %s", got)
	}
	w.signIn("eve") // whose token has the nonce of another sign-in
	w.sees("[data-problem='provider.stray']", "did not begin on this page")
	w.seesNo(".places")
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.requests {
		if strings.HasPrefix(r, "POST /session") {
			t.Errorf("it was exchanged: %s", r)
		}
	}
}
