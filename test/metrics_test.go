package test

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"seckill/internal/kit/signature"
	"seckill/test/box"
)

// series are the metrics of a running server: the values of each label of each metric.
type series map[string]map[string]map[string]bool

// scrape reads the metrics of a server.
func scrape(tb testing.TB, srv *box.Server) series {
	tb.Helper()
	all := series{}
	line := regexp.MustCompile(`^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? `)
	label := regexp.MustCompile(`(\w+)="((?:[^"\\]|\\.)*)"`)
	for text := range strings.Lines(srv.Metrics(tb)) {
		match := line.FindStringSubmatch(text)
		if match == nil {
			continue
		}
		name := match[1]
		if all[name] == nil {
			all[name] = map[string]map[string]bool{}
		}
		for _, l := range label.FindAllStringSubmatch(match[2], -1) {
			if all[name][l[1]] == nil {
				all[name][l[1]] = map[string]bool{}
			}
			all[name][l[1]][l[2]] = true
		}
	}
	return all
}

// queries returns the queries of the alerts and the dashboard.
func queries(t *testing.T) []string {
	t.Helper()
	rules, err := os.ReadFile("../deploy/prometheus/rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, expr := range regexp.MustCompile(
		`(?ms)^        expr: (.*?)\n        (?:for|labels):`).FindAllStringSubmatch(string(rules), -1) {
		all = append(all, expr[1])
	}
	panels, _ := dashboard(t)
	for _, p := range panels {
		for _, target := range p.Targets {
			all = append(all, target.Expr)
		}
	}
	if len(all) < 40 {
		t.Fatalf("found only %d queries", len(all))
	}
	return all
}

// check returns an error if a query uses a metric or label that the server does not have.
func (all series) check(query string) error {
	grouped := regexp.MustCompile(`by \(([^)]*)\)`).FindAllStringSubmatch(query, -1)
	query = regexp.MustCompile(`by \([^)]*\)`).ReplaceAllString(query, "")
	selector := regexp.MustCompile(`\b((?:seckill|go|process)_\w+)(?:\{([^}]*)\})?`) // a metric with its matchers
	known := map[string]bool{"instance": true, "job": true}                          // added by Prometheus
	known["integration"] = strings.Contains(query, "alertmanager_")                  // Alertmanager does not run here
	for _, m := range selector.FindAllStringSubmatch(query, -1) {
		labels, has := all[m[1]]
		if !has {
			return fmt.Errorf("there is no %s", m[1])
		}
		for name := range labels {
			known[name] = true
		}
		for _, matcher := range regexp.MustCompile(`(\w+)(=|!=)"([^"]*)"`).FindAllStringSubmatch(m[2], -1) {
			name, value := matcher[1], matcher[3]
			switch {
			case name == "job":
			case labels[name] == nil:
				return fmt.Errorf("%s has no label %s", m[1], name)
			case !labels[name][value] && name != "status" && name != "code": // which appear with the first request
				return fmt.Errorf("%s has no %s=%q", m[1], name, value)
			}
		}
	}
	for _, names := range grouped {
		for name := range strings.SplitSeq(names[1], ",") {
			if name = strings.TrimSpace(name); !known[name] {
				return fmt.Errorf("grouped by %s, which nothing in it has", name)
			}
		}
	}
	return nil
}

// TestDashboardAndAlertsUseMetricsThatExist compares the names and labels in queries with a running server that has
// sold something: a query of a missing metric shows nothing and never fires.
func TestDashboardAndAlertsUseMetricsThatExist(t *testing.T) {
	t.Parallel()
	s := guardedSite(t, 1)
	voucher := s.CreateSale(t, 1, time.Now().Add(time.Hour))
	s.Buyers(voucher).BuyAll(t.Context(), 2, box.Users(1, 3))
	order := s.Client.Must(t, http.StatusConflict, box.Request{
		Method: http.MethodPost, URL: s.URL(fmt.Sprintf("/voucher/seckill/%d", voucher)), Token: box.BuyerToken(1),
	})
	if order.Code != "ALREADY_BOUGHT" && order.Code != "SOLD_OUT" {
		t.Fatalf("%s", order.Body)
	}
	eventOnce := box.Request{Method: http.MethodHead, URL: s.URL("/order/5/events"), Token: box.BuyerToken(1)}
	s.Client.Must(t, http.StatusNotFound, eventOnce) // so that the route has a metric
	ticket := box.Request{
		Method: http.MethodPost, URL: s.URL(fmt.Sprintf("/voucher/seckill/%d/ticket", voucher)),
		Token: box.BuyerToken(1),
	}
	if r, err := s.Client.Do(t.Context(), ticket); err != nil { // for the same reason
		t.Fatal(r, err)
	}
	remote := maps.Clone(s.Servers[0].Settings)
	remote["SECKILL_PAYMENT_PROVIDER"], remote["SECKILL_PAYMENT_SECRET"] = "auto", ""
	remote["SECKILL_PAYMENT_PROVIDERS"] = "cards=http://127.0.0.1:1/"
	remote["SECKILL_PAYMENT_PROVIDER_SECRETS"] = "cards=" + signature.NewSecret()
	cards := box.NewServer(t, "cards", remote) // only such an instance has metrics of providers over HTTP
	if err := cards.Start(); err != nil {
		t.Fatal(err)
	}
	all := queries(t)
	box.Eventually(t, "the metrics that are queried", func() error {
		has := scrape(t, s.Servers[0])
		for name, of := range scrape(t, cards) {
			if has[name] == nil {
				has[name] = of
			}
		}
		for _, query := range all {
			if err := has.check(query); err != nil {
				return fmt.Errorf("%s: %w", query, err)
			}
		}
		return nil
	})
}
