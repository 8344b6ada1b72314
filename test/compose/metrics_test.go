package compose

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"seckill/internal/telemetry"
)

// exposed is the service's own metrics as Prometheus scrapes them, every family with at least one series.
func exposed(t *testing.T) string {
	t.Helper()
	m := telemetry.NewMetrics(telemetry.Build{})
	m.WatchLoad(func() (inFlight, streams, refused int64) { return 0, 0, 0 })
	m.Request(http.MethodGet, "/voucher/:id", http.StatusOK, "", 0)
	m.Request(http.MethodGet, "/voucher/:id", http.StatusTooManyRequests, "RATE_LIMITED", 0)
	answer := httptest.NewRecorder()
	m.Handler().ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
	if answer.Code != http.StatusOK {
		t.Fatalf("/metrics answers %d", answer.Code)
	}
	return answer.Body.String()
}

// A dashboard or an alert over a metric that does not exist shows nothing and never fires.
func TestDashboardAndAlertsUseMetricsThatExist(t *testing.T) {
	t.Parallel()
	scraped := exposed(t)
	series := regexp.MustCompile(`\bseckill_\w+`)
	label := regexp.MustCompile(`\{(\w+=\\?"\w+)\\?"\}`)
	for _, file := range []string{"deploy/prometheus/rules.yml", "deploy/grafana/dashboards/seckill.json"} {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		names := series.FindAllString(string(text), -1)
		if len(names) == 0 {
			t.Errorf("%s uses no metric of the service", file)
		}
		for _, name := range names {
			if !strings.Contains(scraped, "\n"+name+" ") && !strings.Contains(scraped, "\n"+name+"{") {
				t.Errorf("%s: no series %s", file, name)
			}
		}
		for _, match := range label.FindAllStringSubmatch(string(text), -1) {
			want := strings.ReplaceAll(match[1], `\`, "")
			if want != `job="seckill` && !strings.Contains(scraped, want) {
				t.Errorf("%s: no series with the label %s\"", file, want)
			}
		}
	}
}
