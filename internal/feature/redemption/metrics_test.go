package redemption

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestMetrics(t *testing.T) {
	t.Parallel()
	m := NewMetrics()
	m.Redemption(Redeem, nil)
	m.Redemption(Reserve, &RefusalError{Reason: ErrReserved})
	m.Redemption(Validate, ErrMalformed)
	m.Redemption(Release, errors.New("away"))
	m.CouponsLapsed(3, time.Millisecond)
	all := prometheus.NewRegistry()
	all.MustRegister(m.Collectors()...)
	err := testutil.GatherAndCompare(all, strings.NewReader(`
# HELP seckill_lapser_coupons_total Coupons that lapsed: they were not redeemed in time.
# TYPE seckill_lapser_coupons_total counter
seckill_lapser_coupons_total 3
# HELP seckill_redemption_commands_total Commands of tills, by what they wanted and what became of it.
# TYPE seckill_redemption_commands_total counter
seckill_redemption_commands_total{command="redeem",result="done"} 1
seckill_redemption_commands_total{command="release",result="failed"} 1
seckill_redemption_commands_total{command="reserve",result="reserved"} 1
seckill_redemption_commands_total{command="validate",result="malformed"} 1
`), "seckill_lapser_coupons_total", "seckill_redemption_commands_total")
	if err != nil {
		t.Error(err)
	}
	if n, err := testutil.GatherAndCount(all); err != nil || n != 6 {
		t.Errorf("%d series, %v; want 6", n, err)
	}
	if problems, err := testutil.GatherAndLint(all); err != nil || len(problems) > 0 {
		t.Errorf("against the conventions: %v, %v", problems, err)
	}
}
