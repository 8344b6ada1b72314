package main

import (
	"bytes"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"seckill/internal/testkit"
	"seckill/internal/testkit/server"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestRunUsesServersThatTheEnvironmentNames(t *testing.T) {
	dsn := testkit.MySQL(t)
	for _, tc := range []struct {
		name, redis string
		args        []string
		code        int
		stdout      string
		stderr      string
	}{
		{"help teaches", "", []string{"--help"}, 0, "", "go run ./test/services -- COMMAND"},
		{"unknown flag", "", []string{"--no-such-flag"}, 2, "", "-no-such-flag"},
		{"the command's code", "", []string{"--", "sh", "-c", "exit 3"}, 3, "", "using the redis on"},
		{"the command's signal", "", []string{"--", "sh", "-c", "kill -9 $$"}, 137, "", ""},
		{"no such command", "", []string{"--", "/no/such/command"}, 127, "", "/no/such/command"},
		{"a Redis that is not there", "127.0.0.1:1", []string{"--", "true"}, 125, "", "does not answer"},
		{"the command's environment", "", []string{"--", "sh", "-c", "echo $SECKILL_TEST_MYSQL_DSN"}, 0, dsn, "the MySQL that"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.redis == "" {
				tc.redis = testkit.RedisAddr(t)
			}
			t.Setenv(server.EnvRedisAddr, tc.redis)
			t.Setenv(server.EnvMySQLDSN, dsn)
			var stdout, stderr bytes.Buffer
			if code := run(tc.args, &stdout, &stderr); code != tc.code {
				t.Errorf("exit code %d, want %d", code, tc.code)
			}
			if !strings.Contains(stdout.String(), tc.stdout) || !strings.Contains(stderr.String(), tc.stderr) {
				t.Errorf("stdout %q, stderr %q; want %q and %q in them", &stdout, &stderr, tc.stdout, tc.stderr)
			}
		})
	}
}

func TestRunStartsAndStopsServers(t *testing.T) {
	t.Setenv(server.EnvRedisAddr, "")
	t.Setenv(server.EnvMySQLDSN, "")
	var stdout, stderr bytes.Buffer
	if code := run([]string{"--", "sh", "-c", "echo $SECKILL_TEST_REDIS_ADDR; echo $SECKILL_TEST_MYSQL_DSN"}, &stdout, &stderr); code != 0 {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	addr, dsn, _ := strings.Cut(strings.TrimSpace(stdout.String()), "\n")
	for _, line := range []string{"redis", "mariadb"} {
		if !strings.Contains(stderr.String(), "services: "+line+" ") {
			t.Errorf("no line about %s: %s", line, &stderr)
		}
	}
	if err := server.PingRedis(t.Context(), addr); addr == "" || err == nil {
		t.Errorf("the redis on %q still runs", addr)
	}
	if err := server.PingMySQL(t.Context(), dsn); dsn == "" || err == nil {
		t.Errorf("the mariadb %q still runs", dsn)
	}
}

func TestRunForwardsSignals(t *testing.T) {
	t.Setenv(server.EnvRedisAddr, testkit.RedisAddr(t))
	t.Setenv(server.EnvMySQLDSN, testkit.MySQL(t))
	ready, stdout := io.Pipe()
	sent := make(chan error, 1)
	go func() {
		_, err := ready.Read(make([]byte, 64))
		if err == nil {
			err = syscall.Kill(os.Getpid(), syscall.SIGTERM)
		}
		sent <- err
	}()
	script := `trap "exit 7" TERM; echo ready; while :; do sleep 0.02; done`
	if code := run([]string{"--", "sh", "-c", script}, stdout, io.Discard); code != 7 {
		t.Errorf("exit code %d, want 7, the one of the command's own handler", code)
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
}
