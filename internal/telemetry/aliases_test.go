package telemetry

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// released are the metrics of the last release that have another name now. A line leaves this list with the release after next.
func released() map[string]string {
	return map[string]string{
		"seckill_admission_memory_refusals_total": "seckill_admission_cache_refusals_total",
		"seckill_cashier_payments_total":          "seckill_payments_notices_total",
		"seckill_cashier_refunds_total":           "seckill_payments_refunds_total",
		"seckill_closer_duration_seconds":         "seckill_expirer_duration_seconds",
		"seckill_closer_orders_total":             "seckill_expirer_orders_total",
	}
}

// seriesOf returns the lines of one metric on a page of metrics, without its name. A histogram's have suffixes.
func seriesOf(page, name string) []string {
	var all []string
	for line := range strings.Lines(page) {
		if rest, found := strings.CutPrefix(line, name); found && strings.ContainsAny(rest[:1], "{ _") {
			all = append(all, rest)
		}
	}
	return all
}

// Both names of a renamed metric have the same series and values, and the old one says which to use.
func TestRenamedMetricsKeepTheirOldNames(t *testing.T) {
	t.Parallel()
	m := used()
	m.RefusedFromCache(5, 6)
	for format, accept := range map[string]string{"text": "text/plain", "OpenMetrics": "application/openmetrics-text"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil)
			r.Header.Set("Accept", accept)
			answer := httptest.NewRecorder()
			m.Handler().ServeHTTP(answer, r)
			page := answer.Body.String()
			for old, name := range released() {
				got := seriesOf(page, old)
				if len(got) == 0 {
					t.Errorf("%s is not exported", old)
				}
				if diff := cmp.Diff(seriesOf(page, name), got); diff != "" {
					t.Errorf("%s (-) and %s (+):\n%s", name, old, diff)
				}
				if help := "Deprecated: use " + name + "."; !strings.Contains(page, help) {
					t.Errorf("nothing says %q", help)
				}
			}
		})
	}
}

// No name is both an old and a new one, and none is used twice: a page of metrics with two families of one name is invalid.
func TestOldNamesAreFree(t *testing.T) {
	t.Parallel()
	families, err := used().registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	taken := map[string]bool{}
	for _, f := range families {
		taken[f.GetName()] = true
	}
	for name, old := range oldNames() {
		if !taken[name] {
			t.Errorf("%s has an old name and does not exist", name)
		}
		if taken[old] {
			t.Errorf("%s, the old name of %s, is taken", old, name)
		}
		taken[old] = true
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(released())), slices.Sorted(maps.Values(oldNames()))); diff != "" {
		t.Errorf("old names (-want +got):\n%s", diff)
	}
}
