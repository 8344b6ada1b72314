package test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"seckill/internal/testkit"
	"seckill/test/box"
)

// TestInstancesShareBudgets checks that three instances exchange what callers spend. A caller who has spent a budget at
// one of them is limited by the others, and by one that starts later. A caller who uses only one instance gets the
// whole budget there.
func TestInstancesShareBudgets(t *testing.T) {
	t.Parallel()
	_, prefix := testkit.Redis(t)
	dsn := testkit.MySQL(t)
	site := box.EmptySite(t, testkit.RedisAddr(t), prefix, dsn)
	settings := map[string]string{"SECKILL_TRUSTED_PROXIES": "127.0.0.0/8"}
	for range 3 {
		site.Add(t, testkit.RedisAddr(t), dsn, settings)
	}
	site.Start(t)
	const budget = 1000 // per day, so that almost nothing of it comes back during the test
	draft := box.SeckillDraft(1, 1, time.Now().Add(time.Hour), time.Now().Add(2*time.Hour))
	draft["guards"] = map[string]any{"limits": map[string]any{
		"perAddress": map[string]any{"requests": budget, "seconds": 86400}, "perUser": map[string]any{
			"requests": budget, "seconds": 86400,
		},
	}}
	r := site.Client.Must(t, http.StatusCreated,
		box.Request{Method: http.MethodPost, URL: site.URL("/voucher/seckill"), Token: box.AdminToken(), Body: draft})
	sale := box.Decode[struct{ ID int64 }](t, r).ID

	// press sends a purchase to an instance, as a user from an address, and reports whether the limits let it in.
	press := func(s *box.Server, user int64, address string) bool {
		t.Helper()
		r, err := site.Client.Do(t.Context(), box.Request{
			Method: http.MethodPost, URL: s.URL(fmt.Sprintf("/voucher/seckill/%d", sale)), Token: box.BuyerToken(user),
			Header: map[string]string{"X-Forwarded-For": address},
		})
		if err != nil {
			t.Fatal(err)
		}
		// On a busy machine Redis may answer too late whether the sale has begun; the limits were asked before that.
		if r.Code != "NOT_STARTED" && r.Code != "UNKNOWN_OUTCOME" && r.Code != "RATE_LIMITED" {
			t.Fatalf("%d %s", r.StatusCode, r.Body)
		}
		return r.Code != "RATE_LIMITED"
	}
	for i, s := range site.Servers { // until all instances know the limits
		box.Eventually(t, fmt.Sprintf("the limits on instance %d", i), func() error {
			for range budget + 1 {
				if !press(s, int64(1000+i), fmt.Sprintf("192.0.2.%d", 100+i)) {
					return nil
				}
			}
			return fmt.Errorf("user %d is never limited", 1000+i)
		})
	}
	spend := func(s *box.Server, user int64, address string) (let int) {
		for press(s, user, address) {
			let++
		}
		return let
	}
	for _, c := range []struct {
		name    string
		user    func(i int64) int64
		address func(i int64) string
	}{
		{
			"a user from many addresses", func(int64) int64 { return 1 },
			func(i int64) string { return fmt.Sprintf("198.51.100.%d", i%200+1) },
		},
		{
			"an address of many accounts", func(i int64) int64 { return 5000 + i },
			func(int64) string { return "203.0.113.7" },
		},
	} {
		let, i := 0, int64(0)
		ask := func(s *box.Server) bool {
			i++
			in := press(s, c.user(i), c.address(i))
			if in {
				let++
			}
			return in
		}
		for ask(site.Servers[0]) {
		}
		if let < budget || let > budget+3 {
			t.Errorf("%s: at the first instance %d were let in, want %d", c.name, let, budget)
		}
		for _, s := range site.Servers[1:] {
			box.Eventually(t, c.name+" is limited elsewhere", func() error {
				if ask(s) {
					return fmt.Errorf("let in")
				}
				return nil
			})
		}
		if let > 5*budget/2 { // 3 × budget without sharing
			t.Errorf("%s: at three instances %d were let in, and one lets in %d", c.name, let, budget)
		}
	}
	if let := spend(site.Servers[2], 2, "203.0.113.77"); let < budget || let > budget+3 {
		t.Errorf("a caller who asks one instance only: %d were let in, want %d", let, budget)
	}

	late := site.Servers[2]
	if let := spend(site.Servers[0], 3, "203.0.113.99"); let < budget || let > budget+3 {
		t.Errorf("before a restart: %d were let in, want %d", let, budget)
	}
	if err := late.KillAndStart(); err != nil {
		t.Fatal(err)
	}
	box.Eventually(t, "the limits on an instance that began later", func() error {
		if press(late, 3, "203.0.113.99") {
			return fmt.Errorf("let in")
		}
		return nil
	})
}
