package alerts

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"seckill/internal/testkit/server"
	"seckill/test/box"
)

// root is the project's directory.
const root = "../.."

// prometheus is a Prometheus that watches a service with the project's rules.
type prometheus struct{ url string }

// watch starts Prometheus with the project's own file, except that the targets are the site's instances and an
// Alertmanager, and rules are evaluated every five seconds instead of every minute. It returns once the metrics of all
// instances have been read.
func watch(tb testing.TB, site *box.Site, alertmanager string) prometheus {
	tb.Helper()
	promtool, err := server.Program(tb.Context(), "promtool", "prometheus")
	if err != nil {
		tb.Fatal(err)
	}
	dir, at := tb.TempDir(), box.FreeAddr(tb)
	file := read(tb, "deploy/prometheus/prometheus.yml")
	targets := make([]string, len(site.Servers))
	for i, s := range site.Servers {
		targets[i] = s.OpsAddr
	}
	for from, to := range map[string]string{
		"server-1:8081, server-2:8081": strings.Join(targets, ", "), "alertmanager:9093": alertmanager,
		"localhost:9090": at, "scrape_timeout: 4s": "scrape_timeout: 4s\n  evaluation_interval: 5s",
	} {
		if !strings.Contains(file, from) {
			tb.Fatalf("prometheus.yml has no %q", from)
		}
		file = strings.ReplaceAll(file, from, to)
	}
	write(tb, filepath.Join(dir, "prometheus.yml"), file)
	write(tb, filepath.Join(dir, "rules.yml"), read(tb, "deploy/prometheus/rules.yml"))
	run(tb, filepath.Join(filepath.Dir(promtool), "prometheus"), "--config.file="+filepath.Join(dir, "prometheus.yml"),
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+at)
	p := prometheus{"http://" + at}
	box.Eventually(tb, "Prometheus reading the service's metrics", func() error {
		found, err := p.ask(tb.Context(), `sum(up{job="seckill"})`)
		if err == nil && !slices.Contains(found, strconv.Itoa(len(targets))) {
			err = fmt.Errorf("up is %v", found)
		}
		return err
	})
	return p
}

// run runs a program until the test ends, and logs its output if the test has failed.
func run(tb testing.TB, program string, args ...string) {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), program, args...)
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = cmd.Wait() // the end of the test's context has ended it
		if tb.Failed() {
			tb.Logf("%s:\n%s", filepath.Base(program), log.String()[max(0, log.Len()-4000):])
		}
	})
}

// ask returns the results of a query.
func (p prometheus) ask(ctx context.Context, query string) ([]string, error) {
	var answer struct {
		Data struct {
			Result []struct {
				Metric map[string]string
				Value  [2]any
			}
		}
	}
	err := get(ctx, p.url+"/api/v1/query?"+url.Values{"query": {query}}.Encode(), &answer)
	var values []string
	for _, r := range answer.Data.Result {
		if name := r.Metric["alertname"]; name != "" {
			values = append(values, name)
			continue
		}
		values = append(values, fmt.Sprint(r.Value[1]))
	}
	slices.Sort(values)
	return slices.Compact(values), err
}

// fired returns the alerts that have fired since Prometheus started.
func (p prometheus) fired(tb testing.TB) []string {
	tb.Helper()
	var names []string
	box.Eventually(tb, "an answer of Prometheus", func() (err error) {
		names, err = p.ask(tb.Context(), `group by (alertname) (last_over_time(ALERTS{alertstate="firing"}[2h]))`)
		return err
	})
	return names
}

// get reads a JSON answer.
func get(ctx context.Context, address string, into any) error {
	ask, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(ask)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", address, answer.Status)
	}
	return json.NewDecoder(answer.Body).Decode(into)
}

// read returns a file of the project.
func read(tb testing.TB, name string) string {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

func write(tb testing.TB, name, text string) {
	tb.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
}
