package test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"seckill/internal/testkit"
	"seckill/test/box"
)

// TestHelp checks that the program explains its use, and names arguments that it does not know.
func TestHelp(t *testing.T) {
	t.Parallel()
	tests := []struct {
		args []string
		code int
		says []string
	}{
		{[]string{"--help"}, 0, []string{"serve", "migrate", "token", "version", "health"}},
		{
			[]string{"serve", "--help"}, 0, []string{
				"SECKILL_HTTP_ADDR", "SECKILL_REDIS_ADDRS", "SECKILL_MYSQL_DSN", "SECKILL_JWT_SECRET",
			},
		},
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
		{[]string{"deadletter", "discard", "-why", "x", "1-0", "-yes"}, 2, []string{"-yes", "flags come first"}},
		{[]string{"deadletter", "list"}, 1, []string{"embedded", "SECKILL_REDIS_ADDRS", "SECKILL_MYSQL_DSN"}},
		{[]string{"migrate"}, 1, []string{"no database", "data", "SECKILL_MYSQL_DSN"}},
		{[]string{"webhook", "list"}, 1, []string{"no database", "SECKILL_MYSQL_DSN"}},
		{[]string{"couponkey", "-rotate"}, 1, []string{"no database", "SECKILL_MYSQL_DSN"}},
		{[]string{"guardkey"}, 1, []string{"no database", "SECKILL_MYSQL_DSN"}},
		{[]string{"check", "--help"}, 0, []string{"-voucher", "-lang", "no-go"}},
		{[]string{"rehearse", "--help"}, 0, []string{"-voucher", "-buyers", "no-go", "within an hour"}},
		{[]string{"rehearse", "-voucher", "7", "-loadgen", "go"}, 1, []string{"embedded", "#rehearsing-a-sale"}},
		{[]string{"reconcile", "--help"}, 0, []string{"-voucher", "-repair", "tb_seckill_voucher", "balanced"}},
		{[]string{"reconcile", "-voucher", "-1"}, 2, []string{"-voucher"}},
		{
			[]string{"reconcile", "-voucher", "seven"}, 2, []string{
				`"seven" for flag -voucher (allowed: a whole number)`,
			},
		},
		{
			[]string{"reconcile", "-voucher", "7", "-repair=perhaps"}, 2, []string{
				`"perhaps" for -repair (allowed: true or false)`,
			},
		},
		{
			[]string{"token", "-user", "7", "-ttl", "1"}, 2, []string{
				`"1" for flag -ttl (allowed: a time such as 10s or 2m)`,
			},
		},
		{[]string{"partition", "--help"}, 0, []string{"list", "close", "open", "remove"}},
		{[]string{"partition", "list", "--help"}, 0, []string{"list", "close", "open", "remove"}},
		{[]string{"partition", "remove", "--help"}, 0, []string{"for good"}},
		{[]string{"partition", "list", "0"}, 2, []string{`unexpected argument "0"`}},
		{[]string{"partition", "burn", "0"}, 2, []string{"burn", "list, close, open or remove"}},
		{[]string{"partition", "close", "-1"}, 2, []string{"-1"}},
		{[]string{"reconcile", "7"}, 2, []string{"7"}},
		{[]string{"reconcile"}, 1, []string{"embedded"}},
		{[]string{"token"}, 2, []string{"user"}},
		{[]string{"token", "-user", "-1"}, 2, []string{"user"}},
		{[]string{"token", "-user", "42", "-role", "emperor"}, 2, []string{"role"}},
	}
	for _, tt := range tests {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			t.Parallel()
			got := box.Command(t, map[string]string{"SECKILL_JWT_SECRET": box.Secret}, tt.args...)
			if got.Code != tt.code {
				t.Errorf("exit code %d, want %d", got.Code, tt.code)
			}
			for _, word := range tt.says {
				if !strings.Contains(got.Stdout+got.Stderr, word) {
					t.Errorf("the output does not say %q:\n%s%s", word, got.Stdout, got.Stderr)
				}
			}
		})
	}
}

// TestToolsNameTheDatabase: a tool says which database it works on.
func TestToolsNameTheDatabase(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	srv := box.NewServer(t, "embedded", map[string]string{"SECKILL_DATA_DIR": dir})
	if err := srv.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := srv.Terminate(); err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{"migrate", "webhook list", "couponkey", "guardkey"} {
		got := box.Command(t, map[string]string{"SECKILL_DATA_DIR": dir}, strings.Fields(args)...)
		if want := "database: " + filepath.Join(dir, "seckill.db") + "\n"; got.Code != 0 || got.Stderr != want {
			t.Errorf("server %s: exit code %d, and it says %q, want %q", args, got.Code, got.Stderr, want)
		}
	}
}

// TestTokenCommand: the token command prints a token that the service accepts, and nothing else.
func TestTokenCommand(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	srv := box.NewServer(t, "embedded", map[string]string{"SECKILL_DATA_DIR": dir}) // generates its own secret
	if err := srv.Start(); err != nil {
		t.Fatal(err)
	}
	home := map[string]string{"SECKILL_DATA_DIR": dir}
	c := box.NewClient(t)
	token := func(args ...string) string {
		t.Helper()
		got := box.Command(t, home, append([]string{"token"}, args...)...)
		if got.Code != 0 {
			t.Fatalf("token %v: exit code %d\n%s", args, got.Code, got.Stderr)
		}
		return strings.TrimSuffix(got.Stdout, "\n")
	}
	buyer, admin := token("-user", "42"), token("-user", "7", "-role", "admin")
	c.Must(t, http.StatusOK, box.Request{Method: http.MethodGet, URL: srv.URL("/order"), Token: buyer})
	body := map[string]any{"shopId": 3, "title": "tea", "payValue": 1, "actualValue": 2}
	c.Must(t, http.StatusForbidden,
		box.Request{Method: http.MethodPost, URL: srv.URL("/voucher"), Token: buyer, Body: body})
	c.Must(t, http.StatusCreated,
		box.Request{Method: http.MethodPost, URL: srv.URL("/voucher"), Token: admin, Body: body})
}

// TestMigrateCommand: the migrate command makes the schema, any number of times, and a server that must not migrate
// starts on it.
func TestMigrateCommand(t *testing.T) {
	t.Parallel()
	_, prefix := testkit.Redis(t)
	settings := map[string]string{
		"SECKILL_REDIS_ADDRS": testkit.RedisAddr(t), "SECKILL_REDIS_PREFIX": prefix,
		"SECKILL_MYSQL_DSN": testkit.MySQL(t), "SECKILL_JWT_SECRET": box.Secret,
	}
	for _, plan := range []string{"in all: ", "the schema is up to date"} {
		planned := box.Command(t, settings, "migrate", "-plan")
		if planned.Code != 0 || !strings.Contains(planned.Stdout, plan) {
			t.Errorf("the plan, exit code %d\n%s%s", planned.Code, planned.Stdout, planned.Stderr)
		}
		got := box.Command(t, settings, "migrate")
		if got.Code != 0 || !strings.Contains(got.Stderr, "database: ") {
			t.Fatalf("exit code %d\n%s%s", got.Code, got.Stdout, got.Stderr)
		}
	}
	settings["SECKILL_MIGRATE"] = "false"
	if err := box.NewServer(t, "instance", settings).Start(); err != nil {
		t.Error(err)
	}
	// The first start creates the key of codes, so that many simultaneous first payments find it.
	var keys int
	ledger := box.OpenLedger(t, "mysql", settings["SECKILL_MYSQL_DSN"])
	if err := ledger.DB.QueryRowContext(t.Context(),
		"SELECT COUNT(*) FROM tb_setting WHERE name LIKE 'coupon_key%'").Scan(&keys); err != nil || keys != 1 {
		t.Errorf("%d keys of codes, %v", keys, err)
	}
}

// TestWebhookDelete checks that an endpoint is deleted only with -yes.
func TestWebhookDelete(t *testing.T) {
	t.Parallel()
	settings := map[string]string{
		"SECKILL_REDIS_ADDRS": "127.0.0.1:1", "SECKILL_MYSQL_DSN": testkit.MySQL(t), "SECKILL_JWT_SECRET": box.Secret,
	}
	for _, step := range []struct {
		args string
		code int
		says string
	}{
		{"migrate", 0, "applied"},
		{"webhook add -shop 1 -url https://example.com/hook", 0, "endpoint 1"},
		{"webhook delete 1", 2, "endpoint 1 (https://example.com/hook) would go"},
		{"webhook list", 0, "https://example.com/hook"},
		{"webhook delete -yes 1", 0, "endpoint 1 is gone"},
		{"webhook delete 1", 1, "no such webhook endpoint"},
	} {
		got := box.Command(t, settings, strings.Fields(step.args)...)
		if got.Code != step.code || !strings.Contains(got.Stdout+got.Stderr, step.says) {
			t.Fatalf("server %s: exit code %d, want %d and %q\n%s%s",
				step.args, got.Code, step.code, step.says, got.Stdout, got.Stderr)
		}
	}
}

// TestHealthCommand is what a container's health check runs.
func TestHealthCommand(t *testing.T) {
	t.Parallel()
	s := box.EmbeddedSite(t)
	settings := map[string]string{"SECKILL_HTTP_ADDR": s.Servers[0].Addr}
	if got := box.Command(t, settings, "health"); got.Code != 0 {
		t.Errorf("a healthy server: exit code %d\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
	if _, err := s.Servers[0].Terminate(); err != nil {
		t.Fatal(err)
	}
	if got := box.Command(t, settings, "health"); got.Code != 1 {
		t.Errorf("no server: exit code %d, want 1\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
}
