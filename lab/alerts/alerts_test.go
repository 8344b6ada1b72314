package alerts

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/testkit/server"
	"seckill/test/box"
)

// late is how long an alert may take to fire: the slowest waits sixteen minutes by itself.
const late = 25 * time.Minute

// nobody is an address without an Alertmanager.
const nobody = "127.0.0.1:1"

// Each fault fires its alerts, according to Prometheus's evaluation of the service's own metrics.
func TestFaultsFireAlerts(t *testing.T) {
	t.Parallel()
	for _, f := range faults() {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, f.on)
			p := watch(t, r.Site, nobody)
			began := time.Now()
			f.provoke(r)
			p.await(t, f.alerts)
			t.Logf("fired within %v: %s; all that fired: %s",
				time.Since(began).Round(time.Second), words(f.alerts), words(p.fired(t)))
		})
	}
}

func words(names []string) string { return strings.Join(names, ", ") }

// await waits until alerts have fired.
func (p prometheus) await(t *testing.T, alerts []string) {
	t.Helper()
	end := time.Now().Add(late)
	for {
		fired := p.fired(t)
		if !slices.ContainsFunc(alerts, func(a string) bool { return !slices.Contains(fired, a) }) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%v fired, want %v", fired, alerts)
		}
		time.Sleep(time.Second) // between two evaluations by another process
	}
}

// If Alertmanager's address refuses notifications, an alert says so.
func TestAlertsNotSent(t *testing.T) {
	t.Parallel()
	manager, _, err := server.AlertmanagerPrograms(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	refusing := httptest.NewServer(http.HandlerFunc(
		func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no_service", http.StatusNotFound) }))
	t.Cleanup(refusing.Close)
	dir, at := t.TempDir(), box.FreeAddr(t)
	write(t, dir+"/alert-url", refusing.URL)
	write(t, dir+"/alertmanager.yml", strings.ReplaceAll(read(t, "deploy/alertmanager/alertmanager.yml"),
		"/tmp/", dir+"/"))
	run(t, manager, "--config.file="+dir+"/alertmanager.yml", "--storage.path="+dir, "--web.listen-address="+at,
		"--cluster.listen-address=")
	r := newRig(t, deployment{})
	p := watch(t, r.Site, at)
	instanceKilled(r)
	p.await(t, []string{"SeckillInstanceDown", "SeckillAlertsNotSent"})
}

// A sale in which nothing goes wrong fires no alert, for as long as SECKILL_TEST_CLEAN says: two minutes, or half an
// hour. Its buyers buy, pay, cancel, ask for refunds, or let their orders expire.
func TestCleanSaleFiresNothing(t *testing.T) {
	t.Parallel()
	lasts := 2 * time.Minute
	if text := os.Getenv("SECKILL_TEST_CLEAN"); text != "" {
		var err error
		if lasts, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	r := newRig(t, deployment{instances: 2, sale: map[string]any{"payWithinSeconds": 60}})
	p := watch(t, r.Site, nobody)
	r.meanwhile(100*time.Millisecond, 2, func() { r.buyAt(int(r.user.Load()%2), 0) })
	r.meanwhile(time.Second, 2, r.changeMind)
	select {
	case <-t.Context().Done():
	case <-time.After(lasts): // the sale's length
	}
	if fired := p.fired(t); len(fired) > 0 {
		t.Errorf("%s fired", words(fired))
	}
	for _, done := range []string{
		`sum(seckill_admission_outcomes_total{outcome="accepted"})`,
		`sum(seckill_payments_refunds_total{result="refunded"})`,
		`sum(seckill_outbox_operations_total{result="applied"})`, `sum(seckill_expirer_orders_total)`,
	} {
		if n, err := p.ask(t.Context(), done+" > 0"); err != nil || len(n) != 1 {
			t.Errorf("%s is %v, %v: nothing was tested", done, n, err)
		} else {
			t.Logf("%s: %s after %v", done, n[0], lasts)
		}
	}
}

// Every alert of the rules is fired by a fault, or is on the list of those that no fault fires.
func TestEveryAlertIsNamed(t *testing.T) {
	t.Parallel()
	var rules []string
	for _, match := range regexp.MustCompile(`(?m)^      - alert: (\w+)$`).FindAllStringSubmatch(
		read(t, "deploy/prometheus/rules.yml"), -1) {
		rules = append(rules, match[1])
	}
	named := append(slices.Collect(maps.Keys(notProvoked())), "SeckillAlertsNotSent")
	for _, f := range faults() {
		named = append(named, f.alerts...)
	}
	slices.Sort(rules)
	slices.Sort(named)
	if diff := cmp.Diff(rules, named); diff != "" {
		t.Errorf("alerts of rules.yml (-) and those named here (+):\n%s", diff)
	}
}
