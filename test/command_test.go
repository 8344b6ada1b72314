package test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"seckill/internal/testkit"
)

// TestHelp: the program teaches how it is used, and what it does not know it says.
func TestHelp(t *testing.T) {
	t.Parallel()
	tests := []struct {
		args []string
		code int
		says []string
	}{
		{[]string{"--help"}, 0, []string{"serve", "migrate", "token", "version", "health"}},
		{[]string{"serve", "--help"}, 0, []string{"SECKILL_HTTP_ADDR", "SECKILL_REDIS_ADDRS", "SECKILL_MYSQL_DSN", "SECKILL_JWT_SECRET"}},
		{[]string{"token", "--help"}, 0, []string{"-user", "-role"}},
		{[]string{"version"}, 0, []string{"go1."}},
		{[]string{"sell"}, 2, []string{"sell", "serve"}},
		{[]string{"deadletter", "--help"}, 0, []string{"list", "replay", "discard", "waiting"}},
		{[]string{"deadletter"}, 2, []string{"list, replay or discard"}},
		{[]string{"deadletter", "burn"}, 2, []string{"burn", "list, replay or discard"}},
		{[]string{"deadletter", "list", "--help"}, 0, []string{"-after"}},
		{[]string{"deadletter", "list", "-n", "0"}, 2, []string{"-n"}},
		{[]string{"deadletter", "replay", "-why", "x"}, 2, []string{"no id"}},
		{[]string{"deadletter", "replay", "1-0"}, 2, []string{"-why"}},
		{[]string{"deadletter", "discard", "-why", "x", "1-0", "-yes"}, 2, []string{"-yes", "before"}},
		{[]string{"deadletter", "list"}, 1, []string{"embedded"}},
		{[]string{"reconcile", "--help"}, 0, []string{"-voucher", "-repair", "tb_seckill_voucher", "balanced"}},
		{[]string{"reconcile", "-voucher", "-1"}, 2, []string{"-voucher"}},
		{[]string{"reconcile", "7"}, 2, []string{"7"}},
		{[]string{"reconcile"}, 1, []string{"embedded"}},
		{[]string{"token"}, 2, []string{"user"}},
		{[]string{"token", "-user", "-1"}, 2, []string{"user"}},
		{[]string{"token", "-user", "42", "-role", "emperor"}, 2, []string{"role"}},
	}
	for _, tt := range tests {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			t.Parallel()
			got := command(t, map[string]string{"SECKILL_JWT_SECRET": secret}, tt.args...)
			if got.code != tt.code {
				t.Errorf("exit code %d, want %d", got.code, tt.code)
			}
			for _, word := range tt.says {
				if !strings.Contains(got.stdout+got.stderr, word) {
					t.Errorf("the output does not say %q:\n%s%s", word, got.stdout, got.stderr)
				}
			}
		})
	}
}

// TestTokenCommand: what the token command prints is what the service takes, and nothing else is on its output.
func TestTokenCommand(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	srv := newServer(t, "embedded", map[string]string{"SECKILL_DATA_DIR": dir}) // makes its own secret
	if err := srv.start(); err != nil {
		t.Fatal(err)
	}
	home := map[string]string{"SECKILL_DATA_DIR": dir}
	c := newClient(t)
	token := func(args ...string) string {
		t.Helper()
		got := command(t, home, append([]string{"token"}, args...)...)
		if got.code != 0 {
			t.Fatalf("token %v: exit code %d\n%s", args, got.code, got.stderr)
		}
		return strings.TrimSuffix(got.stdout, "\n")
	}
	buyer, admin := token("-user", "42"), token("-user", "7", "-role", "admin")
	c.must(t, http.StatusOK, request{method: http.MethodGet, url: srv.url("/order"), token: buyer})
	body := map[string]any{"shopId": 3, "title": "tea", "payValue": 1, "actualValue": 2}
	c.must(t, http.StatusForbidden, request{method: http.MethodPost, url: srv.url("/voucher"), token: buyer, body: body})
	c.must(t, http.StatusCreated, request{method: http.MethodPost, url: srv.url("/voucher"), token: admin, body: body})
}

// TestMigrateCommand: the schema is made by a command of its own, any number of times, and a server that is told not
// to migrate starts on it.
func TestMigrateCommand(t *testing.T) {
	t.Parallel()
	_, prefix := testkit.Redis(t)
	settings := map[string]string{
		"SECKILL_REDIS_ADDRS": testkit.RedisAddr(t), "SECKILL_REDIS_PREFIX": prefix, "SECKILL_MYSQL_DSN": testkit.MySQL(t),
		"SECKILL_JWT_SECRET": secret,
	}
	for range 2 {
		if got := command(t, settings, "migrate"); got.code != 0 {
			t.Fatalf("exit code %d\n%s%s", got.code, got.stdout, got.stderr)
		}
	}
	settings["SECKILL_MIGRATE"] = "false"
	if err := newServer(t, "instance", settings).start(); err != nil {
		t.Error(err)
	}
}

// TestHealthCommand is what a container's health check runs.
func TestHealthCommand(t *testing.T) {
	t.Parallel()
	s := embeddedSite(t)
	settings := map[string]string{"SECKILL_HTTP_ADDR": s.servers[0].addr}
	if got := command(t, settings, "health"); got.code != 0 {
		t.Errorf("a healthy server: exit code %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	if _, err := s.servers[0].terminate(); err != nil {
		t.Fatal(err)
	}
	if got := command(t, settings, "health"); got.code != 1 {
		t.Errorf("no server: exit code %d, want 1\n%s%s", got.code, got.stdout, got.stderr)
	}
}
