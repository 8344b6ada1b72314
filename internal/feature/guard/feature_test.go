package guard

import (
	"strings"
	"testing"

	"seckill/internal/authtoken"
	"seckill/internal/config"
	"seckill/internal/feature"
	"seckill/internal/order/ordertest"
	"seckill/internal/voucher/guards"
)

// Without a secret there are no tickets, and whoever wants some is told the setting; the embedded mode has one of its
// own, and no other instance to tell what callers spend.
func TestOpen(t *testing.T) {
	t.Parallel()
	secret := strings.Repeat("of the guards 7!", 2)
	for name, c := range map[string]struct {
		secret, tokens string
		embedded       bool
		lacks          any
		routes, jobs   int
	}{
		"without a secret":           {"", secret, false, "SECKILL_GUARD_SECRET", 4, 4},
		"with one":                   {secret, secret + "!", false, nil, 5, 8},
		"embedded":                   {"", secret, true, nil, 5, 7},
		"embedded, without a secret": {"", "", true, "SECKILL_GUARD_SECRET", 4, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			core := feature.Core{
				Tokens: authtoken.Rules{Secret: []byte(c.tokens)}, Log: ordertest.Quiet(),
				Settings: config.Config{Guards: config.Guards{Secret: config.Secret(c.secret)}},
			}
			if !c.embedded {
				core.Settings.MySQL.DSN = "a database"
			}
			parts, err := New().Open(core)
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range guards.Names() {
				var want any
				if n == guards.TicketsGuard || n == guards.ChallengeGuard {
					want = c.lacks
				}
				if _, data := parts.Gatekeeper.Lacks(n); data["setting"] != want {
					t.Errorf("%s lacks %v, want %v", n, data, want)
				}
			}
			if len(parts.Routes) != c.routes || len(parts.Jobs) != c.jobs || len(parts.Metrics) != 1 ||
				!parts.Members.Has("guards") {
				t.Errorf("%d routes, %d jobs, %d metrics, members %t", len(parts.Routes), len(parts.Jobs),
					len(parts.Metrics), parts.Members.Has("guards"))
			}
		})
	}
}
