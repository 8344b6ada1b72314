package guard

import (
	"testing"
	"time"

	"seckill/internal/feature/guard/budget"
	"seckill/internal/feature/guard/cooldown"
	"seckill/internal/feature/guard/tally"
	"seckill/internal/voucher/guards"
)

// With dryRun nobody waits, and is counted.
func TestCoolDownWithDryRun(t *testing.T) {
	t.Parallel()
	heard, users := observer{}, cooldown.NewUsers(func() time.Time { return noon })
	users.Tell([]cooldown.Unpaid{{UserID: 7, Expired: 2}})
	g := NewGuards(budget.NewTable(time.Now), tally.New(time.Now), heard.GuardStopped, CoolDownCheck{users})
	s := Sale{ID: 1, Settings: &guards.Settings{
		CoolDown: &guards.CoolDown{Expired: 2, Minutes: 30, DryRun: true},
	}}
	if err := g.Check(s, Caller{UserID: 7}, noon); err != nil || heard[true][guards.CoolDownGuard] != 1 {
		t.Errorf("%v, counted %v", err, heard)
	}
}
