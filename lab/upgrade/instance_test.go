package upgrade

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"seckill/test/box"
)

// instance is one process of a release, with a client of its own: box.Client checks answers against today's API
// description, which the previous version need not follow.
type instance struct {
	testing.TB
	release
	server *box.Server
	client *http.Client
}

// launch starts a process and returns when it is ready to sell. The process is killed when the test ends.
func launch(tb testing.TB, r release, id string, settings map[string]string) *instance {
	tb.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	tb.Cleanup(transport.CloseIdleConnections)
	srv := box.NewServer(tb, id, settings)
	srv.Binary = r.binary
	if err := srv.Start(); err != nil {
		tb.Fatalf("%s, %s: %v", id, r.name, err)
	}
	return &instance{
		TB: tb, release: r, server: srv, client: &http.Client{Transport: transport, Timeout: 20 * time.Second},
	}
}

// kill ends the process like a crash.
func (i *instance) kill() {
	i.Helper()
	if err := i.server.Kill(); err != nil {
		i.Fatal(err)
	}
}

// terminate ends the process as deployments do; its exit code must be 0.
func (i *instance) terminate() {
	i.Helper()
	if code, err := i.server.Terminate(); code != 0 || err != nil {
		i.Errorf("%s, %s, exits with %d after SIGTERM (%v)", i.server.Name, i.name, code, err)
	}
}

// metric returns the sum of a metric's series whose labels contain the text.
func (i *instance) metric(name, label string) (sum float64) {
	i.Helper()
	found := false
	for line := range strings.Lines(i.server.Metrics(i)) {
		series, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if bare, labels, _ := strings.Cut(series, "{"); bare != name || !strings.Contains(labels, label) {
			continue
		}
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			i.Fatalf("metrics of %s: %s: %v", i.server.Name, line, err)
		}
		sum, found = sum+n, true
	}
	if !found {
		i.Fatalf("%s, %s, has no metric %s{%s}", i.server.Name, i.name, name, label)
	}
	return sum
}
