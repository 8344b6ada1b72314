package test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"seckill/internal/testkit"
	"seckill/test/box"
)

// TestWrongSettings checks that a server with wrong settings does not start, names all of them at once, and exits with
// code 2, so that a deployment does not retry.
func TestWrongSettings(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		settings map[string]string
		names    []string // names that the message must contain
	}{
		{"several at once", map[string]string{
			"SECKILL_HTTP_ADDR":    "nowhere",
			"SECKILL_MAX_BACKLOG":  "many",
			"SECKILL_MAX_WAIT":     "-3s",
			"SECKILL_JWT_SECRET":   "short",
			"SECKILL_TIMEZONE":     "Mars/Olympus_Mons",
			"SECKILL_EMBEDDED":     "perhaps",
			"SECKILL_REDIS_ADDRS":  "127.0.0.1:6379",
			"SECKILL_MYSQL_DSN":    "root@tcp(127.0.0.1:3306)/x?clientFoundRows=true",
			"SECKILL_MAX_BACKLOGS": "1",
		}, []string{
			"SECKILL_HTTP_ADDR", "SECKILL_MAX_BACKLOG", "SECKILL_MAX_WAIT", "SECKILL_JWT_SECRET", "SECKILL_TIMEZONE",
			"SECKILL_EMBEDDED", "SECKILL_MYSQL_DSN", "SECKILL_MAX_BACKLOGS",
		}},
		{"redis without a database", map[string]string{
			"SECKILL_REDIS_ADDRS": "127.0.0.1:6379", "SECKILL_JWT_SECRET": box.Secret,
		}, []string{"SECKILL_MYSQL_DSN"}},
		{"a database without redis", map[string]string{
			"SECKILL_MYSQL_DSN": "root@tcp(127.0.0.1:3306)/x", "SECKILL_JWT_SECRET": box.Secret,
		}, []string{"SECKILL_REDIS_ADDRS"}},
		{"nothing, and not embedded", map[string]string{
			"SECKILL_EMBEDDED": "never", "SECKILL_JWT_SECRET": box.Secret,
		}, []string{"SECKILL_REDIS_ADDRS", "SECKILL_MYSQL_DSN"}},
		{"real stores without a secret", map[string]string{
			"SECKILL_REDIS_ADDRS": "127.0.0.1:6379", "SECKILL_MYSQL_DSN": "root@tcp(127.0.0.1:3306)/x",
		}, []string{"SECKILL_JWT_SECRET"}},
		{"a weak secret", map[string]string{
			"SECKILL_REDIS_ADDRS": "127.0.0.1:6379", "SECKILL_MYSQL_DSN": "root@tcp(127.0.0.1:3306)/x",
			"SECKILL_JWT_SECRET": strings.Repeat("a", 40),
		}, []string{"SECKILL_JWT_SECRET"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := box.Command(t, tt.settings, "serve")
			if got.Code != 2 {
				t.Errorf("exit code %d, want 2", got.Code)
			}
			for _, name := range tt.names {
				if !strings.Contains(got.Stderr, name) {
					t.Errorf("the message does not name %s:\n%s", name, got.Stderr)
				}
			}
			if key := tt.settings["SECKILL_JWT_SECRET"]; len(key) > 8 && strings.Contains(got.Stdout+got.Stderr, key) {
				t.Errorf("the message has the secret:\n%s", got.Stderr)
			}
		})
	}
}

// A container that is started with nothing set says in two lines what to set.
func TestNothingSet(t *testing.T) {
	t.Parallel()
	got := box.Command(t, map[string]string{"SECKILL_EMBEDDED": "never"}, "serve")
	if lines := strings.Split(strings.TrimSpace(got.Stderr), "\n"); got.Code != 2 || len(lines) != 2 {
		t.Errorf("exit code %d, want 2; %d lines, want two:\n%s", got.Code, len(lines), got.Stderr)
	}
	for _, name := range []string{
		"SECKILL_REDIS_ADDRS", "SECKILL_MYSQL_DSN", "SECKILL_JWT_SECRET", "SECKILL_EMBEDDED=auto",
	} {
		if !strings.Contains(got.Stderr, name) {
			t.Errorf("the message does not name %s:\n%s", name, got.Stderr)
		}
	}
}

// TestUnreachableStores checks that unreachable stores do not count as wrong settings: the server retries for a while,
// logs what it cannot reach (without the password), and can be terminated meanwhile.
func TestUnreachableStores(t *testing.T) {
	t.Parallel()
	s := box.NewServer(t, "instance", map[string]string{
		"SECKILL_REDIS_ADDRS": "127.0.0.1:1", "SECKILL_MYSQL_DSN": "root:hunter2hunter2@tcp(127.0.0.1:2)/x",
		"SECKILL_JWT_SECRET": box.Secret,
	})
	p, err := s.Launch()
	if err != nil {
		t.Fatal(err)
	}
	box.Eventually(t, "the log of the unreachable stores", func() error {
		if all := s.Log.String(); !strings.Contains(all, "127.0.0.1:1:") && !strings.Contains(all, "127.0.0.1:2:") {
			return errors.New("the log names neither address")
		}
		return nil
	})
	if _, err = s.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code, err := s.ExitCode(p); err != nil || code == 2 {
		t.Errorf("exit code %d, %v; want another than 2, which is for wrong settings", code, err)
	}
	if all := s.Log.String(); strings.Contains(all, "hunter2") || strings.Contains(all, box.Secret) {
		t.Errorf("the log has a secret:\n%s", all)
	}
}

// TestTakenPort checks that an address in use fails the start, and that the error names the setting to change.
func TestTakenPort(t *testing.T) {
	t.Parallel()
	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() })
	for _, setting := range []string{"SECKILL_HTTP_ADDR", "SECKILL_OPS_ADDR"} {
		t.Run(setting, func(t *testing.T) {
			t.Parallel()
			settings := map[string]string{
				"SECKILL_DATA_DIR": filepath.Join(t.TempDir(), "data"), "SECKILL_HTTP_ADDR": "127.0.0.1:0",
				"SECKILL_OPS_ADDR": "off",
			}
			settings[setting] = taken.Addr().String()
			got := box.Command(t, settings, "serve")
			if all := got.Stdout + got.Stderr; got.Code == 0 ||
				!strings.Contains(all, "set "+setting+" to another port") {
				t.Errorf("exit code %d, want a failure that names %s:\n%s", got.Code, setting, all)
			}
		})
	}
}

// TestMissingSchema checks that a server that must not migrate does not start on an unknown schema.
func TestMissingSchema(t *testing.T) {
	t.Parallel()
	_, prefix := testkit.Redis(t)
	got := box.Command(t, map[string]string{
		"SECKILL_HTTP_ADDR": "127.0.0.1:0", "SECKILL_OPS_ADDR": "off", "SECKILL_MIGRATE": "false",
		"SECKILL_REDIS_ADDRS": testkit.RedisAddr(t), "SECKILL_REDIS_PREFIX": prefix,
		"SECKILL_MYSQL_DSN": testkit.MySQL(t), "SECKILL_JWT_SECRET": box.Secret,
	}, "serve")
	if got.Code == 0 || !strings.Contains(got.Stdout+got.Stderr, "server migrate") {
		t.Errorf("exit code %d, want a failure that names the command:\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
}

// TestSpoiltKeyOfCodes checks that a server starts although tills cannot use one of its keys, and names that key.
func TestSpoiltKeyOfCodes(t *testing.T) {
	t.Parallel()
	_, prefix := testkit.Redis(t)
	dsn := testkit.MySQL(t)
	s := box.NewServer(t, "instance", map[string]string{
		"SECKILL_REDIS_ADDRS": testkit.RedisAddr(t), "SECKILL_REDIS_PREFIX": prefix, "SECKILL_MYSQL_DSN": dsn,
		"SECKILL_JWT_SECRET": box.Secret,
	})
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	if code, err := s.Terminate(); err != nil || code != 0 {
		t.Fatalf("exit code %d, %v; want 0", code, err)
	}
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(t.Context(),
		"UPDATE tb_setting SET value = 'short' WHERE name = 'coupon_key_00'"); err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	if all := s.Log.String(); !strings.Contains(all, "setting coupon_key_00 has 5 bytes instead of 32") {
		t.Errorf("the log does not name the key:\n%s", all)
	}
}

// TestDataDirectory checks that only one process can use the data directory, and that its secret stays the same and
// private.
func TestDataDirectory(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	first := box.NewServer(t, "embedded", map[string]string{"SECKILL_DATA_DIR": dir})
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	second := box.Command(t, map[string]string{
		"SECKILL_DATA_DIR": dir, "SECKILL_HTTP_ADDR": "127.0.0.1:0", "SECKILL_OPS_ADDR": "off",
	}, "serve")
	if second.Code == 0 || !strings.Contains(second.Stdout+second.Stderr, dir) {
		t.Errorf("a second process: exit code %d, want a failure that names %s:\n%s%s",
			second.Code, dir, second.Stdout, second.Stderr)
	}
	file := filepath.Join(dir, "secret")
	for _, unusable := range []string{file, filepath.Join(file, "data")} {
		got := box.Command(t, map[string]string{
			"SECKILL_DATA_DIR": unusable, "SECKILL_HTTP_ADDR": "127.0.0.1:0", "SECKILL_OPS_ADDR": "off",
		}, "serve")
		if want := fmt.Sprintf("SECKILL_DATA_DIR %q cannot be used", unusable); got.Code != 1 ||
			!strings.Contains(got.Stderr, want) {
			t.Errorf("exit code %d, want 1, and %q:\n%s%s", got.Code, want, got.Stdout, got.Stderr)
		}
	}
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 || len(before) < 32 {
		t.Errorf("the secret has mode %v and %d bytes, want 0600 and at least 32", info.Mode(), len(before))
	}
	if code, err := first.Terminate(); err != nil || code != 0 {
		t.Errorf("exit code %d, %v; want 0", code, err)
	}
	if err = first.Start(); err != nil {
		t.Fatal(err)
	}
	if after, err := os.ReadFile(file); err != nil || !bytes.Equal(after, before) {
		t.Errorf("the secret has changed with a restart (%v)", err)
	}
}
