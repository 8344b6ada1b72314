package telemetry

import (
	"cmp"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// oldNames are the released names of renamed metrics, by what they are called now. Dashboards and alerts that use them go on
// working: each is exported under both until the release after next (docs/upgrades.md).
func oldNames() map[string]string {
	return map[string]string{
		"seckill_admission_cache_refusals_total": "seckill_admission_memory_refusals_total",
		"seckill_expirer_duration_seconds":       "seckill_closer_duration_seconds",
		"seckill_expirer_orders_total":           "seckill_closer_orders_total",
		"seckill_payments_notices_total":         "seckill_cashier_payments_total",
		"seckill_payments_refunds_total":         "seckill_cashier_refunds_total",
	}
}

// aliases gathers what the gatherer behind it does, and renamed metrics under their old names as well.
type aliases struct {
	prometheus.Gatherer
	old map[string]string
}

// Gather implements [prometheus.Gatherer].
func (a aliases) Gather() ([]*dto.MetricFamily, error) {
	families, err := a.Gatherer.Gather()
	for _, f := range families {
		old, renamed := a.old[f.GetName()]
		if !renamed {
			continue
		}
		help := "Deprecated: use " + f.GetName() + "."
		families = append(families, &dto.MetricFamily{Name: &old, Help: &help, Type: f.Type, Unit: f.Unit, Metric: f.Metric})
	}
	slices.SortFunc(families, func(x, y *dto.MetricFamily) int { return cmp.Compare(x.GetName(), y.GetName()) })
	return families, err // some families may be there in spite of an error
}
