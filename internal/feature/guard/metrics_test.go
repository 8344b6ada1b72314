package guard

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"seckill/internal/voucher/guards"
)

func TestMetrics(t *testing.T) {
	t.Parallel()
	m := NewMetrics()
	m.GuardStopped(guards.LimitsGuard, false)
	m.GuardStopped(guards.LimitsGuard, true)
	m.GuardStopped(guards.ConditionsGuard, true)
	if err := testutil.CollectAndCompare(m.Collectors()[0], strings.NewReader(`
# HELP seckill_guard_stopped_total Requests that a guard of a sale stopped (stopped), or would have stopped were it not for its dryRun (dry_run).
# TYPE seckill_guard_stopped_total counter
seckill_guard_stopped_total{guard="challenge",mode="dry_run"} 0
seckill_guard_stopped_total{guard="challenge",mode="stopped"} 0
seckill_guard_stopped_total{guard="conditions",mode="dry_run"} 1
seckill_guard_stopped_total{guard="conditions",mode="stopped"} 0
seckill_guard_stopped_total{guard="coolDown",mode="dry_run"} 0
seckill_guard_stopped_total{guard="coolDown",mode="stopped"} 0
seckill_guard_stopped_total{guard="limits",mode="dry_run"} 1
seckill_guard_stopped_total{guard="limits",mode="stopped"} 1
seckill_guard_stopped_total{guard="tickets",mode="dry_run"} 0
seckill_guard_stopped_total{guard="tickets",mode="stopped"} 0
seckill_guard_stopped_total{guard="units",mode="dry_run"} 0
seckill_guard_stopped_total{guard="units",mode="stopped"} 0
`)); err != nil {
		t.Error(err)
	}
	if problems, err := testutil.CollectAndLint(m.Collectors()[0]); err != nil || len(problems) > 0 {
		t.Errorf("its name is against the conventions: %v, %v", problems, err)
	}
}
