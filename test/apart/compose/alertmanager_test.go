package compose

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"seckill/internal/testkit/freeport"
	"seckill/internal/testkit/server"
)

const alertmanagerConfig = "deploy/alertmanager/alertmanager.yml"

// amtool runs Alertmanager's own tool and returns what it prints.
func amtool(t *testing.T, args ...string) string {
	t.Helper()
	_, program, err := server.AlertmanagerPrograms(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer // receives its warnings
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Stderr = &log
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("amtool %v: %v\n%s%s", args, err, out, &log)
	}
	return strings.TrimSpace(string(out))
}

// mailing is an operator's own configuration, which does not need the project's address.
const mailing = `global:
  smtp_smarthost: mail.example:587
  smtp_from: alerts@shop.example
route:
  receiver: people
receivers:
  - name: people # once with api_url_file
    email_configs:
      - to: night@shop.example
`

// With an address, alerts of each severity are sent to it. Without the address that the file requires, they are sent to
// nobody, so that no attempt can fail. A file that requires no address always sends. The container's start command
// decides.
func TestAlertmanagerConfig(t *testing.T) {
	t.Parallel()
	container := project(t).Services["alertmanager"]
	if container.Environment["ALERT_URL"] == nil {
		t.Error("ALERT_URL does not reach Alertmanager")
	}
	const hook = "https://hooks.example/services/x"
	for _, c := range []struct{ name, file, address, want string }{
		{"the project's file without an address", text(t, alertmanagerConfig), "", "nobody"},
		{"the project's file", text(t, alertmanagerConfig), hook, "people"},
		{"mail", mailing, "", "people"},
		{"mail and an address", mailing, hook, "people"},
		{"mail, with the old lines as comments", mailing +
			"    # slack_configs:\n    #   - api_url_file: /tmp/alert-url\n", "", "people"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			from, to := t.TempDir(), t.TempDir()
			write(t, filepath.Join(from, "alertmanager.yml"), c.file, 0o600)
			script := strings.NewReplacer("/etc/alertmanager/", from+"/", "/tmp/", to+"/", "/bin/alertmanager",
				"true").Replace(container.Entrypoint[2])
			cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", script)
			cmd.Env = append(os.Environ(), "ALERT_URL="+c.address)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", script, err, out)
			}
			file := filepath.Join(to, "alertmanager.yml")
			amtool(t, "check-config", file)
			for _, severity := range []string{"page", "ticket"} {
				if got := amtool(t, "config", "routes", "test", "--config.file="+file, "severity="+
					severity); got != c.want {
					t.Errorf("an alert with severity %s goes to %q, want %q", severity, got, c.want)
				}
			}
			if got, err := os.ReadFile(filepath.Join(to, "alert-url")); err != nil || string(got) != c.address {
				t.Errorf("the file with the address has %q, %v", got, err)
			}
		})
	}
}

// An alert from Prometheus reaches the address with its name, severity, problem, and a link to read on.
func TestAlertReachesAPerson(t *testing.T) {
	t.Parallel()
	manager, _, err := server.AlertmanagerPrograms(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	messages := make(chan string, 16)
	person := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		select {
		case messages <- string(body):
		default:
		}
	}))
	t.Cleanup(person.Close)
	at := startAlertmanager(t, manager, person.URL)
	alert := []map[string]any{{
		"labels": map[string]string{
			"alertname": "SeckillInstanceDown", "severity": "page", "instance": "server-1:8081",
		},
		"annotations": map[string]string{
			"summary": "server-1:8081 does not answer", "runbook_url": "docs/runbook.md#seckillinstancedown",
		},
	}}
	body, err := json.Marshal(alert)
	if err != nil {
		t.Fatal(err)
	}
	send := func() bool {
		ask, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+at+
			"/api/v2/alerts", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		ask.Header.Set("Content-Type", "application/json")
		answer, err := http.DefaultClient.Do(ask)
		if err != nil {
			return false // it is still starting
		}
		_ = answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	}
	again := time.NewTicker(200 * time.Millisecond)
	defer again.Stop()
	late := time.After(2 * time.Minute)
	for sent := false; ; {
		select {
		case <-again.C:
			sent = sent || send()
		case got := <-messages:
			for _, part := range []string{
				"PAGE SeckillInstanceDown", "server-1:8081 does not answer", "docs/runbook.md#seckillinstancedown",
			} {
				if !strings.Contains(got, part) {
					t.Errorf("the message has no %q:\n%s", part, got)
				}
			}
			return
		case <-late:
			t.Fatalf("no message; the alert was sent: %t", sent)
		}
	}
}

// startAlertmanager runs Alertmanager with the project's file, the receiver's address and shorter waits, and returns
// its own address.
func startAlertmanager(t *testing.T, program, url string) string {
	t.Helper()
	dir := t.TempDir()
	address, config := filepath.Join(dir, "alert-url"), filepath.Join(dir, "alertmanager.yml")
	file := text(t, alertmanagerConfig)
	for from, to := range map[string]string{"/tmp/alert-url": address, "group_wait: 10s": "group_wait: 100ms"} {
		if !strings.Contains(file, from) {
			t.Fatalf("%s has no %q", alertmanagerConfig, from)
		}
		file = strings.ReplaceAll(file, from, to)
	}
	for name, content := range map[string]string{address: url, config: file} {
		write(t, name, content, 0o600)
	}
	at, err := freeport.TakeAddr(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "--config.file="+config, "--storage.path="+dir,
		"--web.listen-address="+at, "--cluster.listen-address=")
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Wait() // the test's context has killed it
		if t.Failed() {
			t.Logf("Alertmanager:\n%s", &log)
		}
	})
	return at
}
