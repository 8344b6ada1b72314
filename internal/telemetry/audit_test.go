package telemetry

import (
	"errors"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"seckill/internal/order/audit"
)

func TestAudit(t *testing.T) {
	t.Parallel()
	m := newTestMetrics()
	m.Audited([]audit.Balance{
		{VoucherID: 7, Finding: audit.Balanced},
		{VoucherID: 8, Finding: audit.LedgerShort, LedgerDifference: -3, RedisDifference: 3},
		{VoucherID: 9, Finding: audit.OrdersLost, Lost: 2},
	}, 0, nil)
	m.Audited(nil, 0, errors.New("away")) // the last result is kept
	m.RepairRequested()
	m.SalePaused()
	const want = `
# HELP seckill_audit_actions_total Measures taken for sales whose units do not add up.
# TYPE seckill_audit_actions_total counter
seckill_audit_actions_total{action="pause"} 1
seckill_audit_actions_total{action="rebuild"} 1
# HELP seckill_audit_difference_units Units of a sale too many (above 0) or too few in a store, as of the last audit.
# TYPE seckill_audit_difference_units gauge
seckill_audit_difference_units{store="ledger",voucher="7"} 0
seckill_audit_difference_units{store="ledger",voucher="8"} -3
seckill_audit_difference_units{store="ledger",voucher="9"} 0
seckill_audit_difference_units{store="redis",voucher="7"} 0
seckill_audit_difference_units{store="redis",voucher="8"} 3
seckill_audit_difference_units{store="redis",voucher="9"} 0
# HELP seckill_audit_failures_total Audits that failed because a store was down.
# TYPE seckill_audit_failures_total counter
seckill_audit_failures_total 1
# HELP seckill_audit_lost_orders Accepted orders of a sale that are in no stream and no ledger, as of the last audit.
# TYPE seckill_audit_lost_orders gauge
seckill_audit_lost_orders{voucher="7"} 0
seckill_audit_lost_orders{voucher="8"} 0
seckill_audit_lost_orders{voucher="9"} 2
# HELP seckill_audit_sales Sales by what the last audit found.
# TYPE seckill_audit_sales gauge
seckill_audit_sales{finding="balanced"} 1
seckill_audit_sales{finding="ledger_excess"} 0
seckill_audit_sales{finding="ledger_short"} 1
seckill_audit_sales{finding="orders_lost"} 1
seckill_audit_sales{finding="redis_wrong"} 0
seckill_audit_sales{finding="undecided"} 0
`
	compare(t, m, want, "seckill_audit_actions_total", "seckill_audit_difference_units", "seckill_audit_failures_total",
		"seckill_audit_lost_orders", "seckill_audit_sales")
	m.AuditOver()
	compare(t, m, "", "seckill_audit_difference_units", "seckill_audit_lost_orders", "seckill_audit_sales")
	if testutil.ToFloat64(m.audit.last) == 0 {
		t.Error("the time of the last audit was lost")
	}
}

// The number of series is bounded, however many sales there are; sales whose units do not add up come first.
func TestAuditIsBounded(t *testing.T) {
	t.Parallel()
	m := newTestMetrics()
	balances := make([]audit.Balance, 3*auditedSales)
	for i := range balances {
		balances[i] = audit.Balance{VoucherID: int64(i + 1), Finding: audit.Balanced}
	}
	last := len(balances) - 1
	balances[last].Finding, balances[last].Lost = audit.OrdersLost, 5
	m.Audited(balances, 0, nil)
	n := testutil.CollectAndCount(prometheus.CollectorFunc(m.audit.collect), "seckill_audit_lost_orders")
	if n != auditedSales {
		t.Errorf("%d sales have series, want %d", n, auditedSales)
	}
	if got := m.audit.balances[0]; got.Lost != 5 {
		t.Errorf("the first one is %+v, want the one that lost orders", got)
	}
	if balances[0].VoucherID != 1 {
		t.Error("the caller's list was sorted")
	}
}
