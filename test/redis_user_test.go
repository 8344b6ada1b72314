package test

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"seckill/internal/testkit"
	"seckill/test/box"
)

// aclLine matches the line in docs/operations.md that creates a Redis user.
var aclLine = regexp.MustCompile(`(?m)^ACL SETUSER seckill on >PASSWORD ~\* &\* (.+)$`)

// TestRedisUser checks that the service sells with a user that has the documented rights. With a user that may not run
// INFO it sells as well, and the log, the health check and the list before a sale say what that costs.
func TestRedisUser(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	line := aclLine.FindSubmatch(document)
	if line == nil {
		t.Fatalf("docs/operations.md has no line like %s", aclLine)
	}
	own := testkit.StartRedis(t, "--appendonly", "yes", "--appendfsync", "always", "--maxmemory", "1gb")
	dsn := testkit.MySQL(t)
	for name, tc := range map[string]struct {
		more     string // rights
		code     int
		readyz   string
		warns    bool
		restarts string
	}{
		"as documented": {"", 0, `"status":"ready"`, false, "ok       redis.restarts"},
		"without INFO":  {" -info", 3, `"status":"degraded"`, true, "no       redis.restarts"},
	} {
		s := box.EmptySite(t, own.Addr, "shop:", dsn)
		rights := append([]any{"ACL", "SETUSER", "seckill", "reset", "on", ">" + box.Secret, "~shop:*", "&shop:*"},
			anys(strings.Fields(string(line[1])+tc.more))...)
		if err := s.Redis.Do(t.Context(), rights...).Err(); err != nil {
			t.Fatal(err)
		}
		settings := map[string]string{"SECKILL_REDIS_USERNAME": "seckill", "SECKILL_REDIS_PASSWORD": box.Secret}
		s.Add(t, own.Addr, dsn, settings)
		s.Add(t, own.Addr, dsn, settings)
		s.Start(t)
		b := s.Buyers(s.CreateWindow(t, 20, time.Now().Add(-time.Minute), time.Now().Add(time.Hour)))
		b.BuyAll(t.Context(), 8, box.Users(1, 30))
		s.Check(t, b, 20)
		expectOutput(t, s, 0, []string{"balanced"}, "reconcile")
		expectOutput(t, s, 0, nil, "locks", "list")
		expectOutput(t, s, tc.code, []string{tc.restarts}, "check", "-voucher", fmt.Sprint(b.Voucher))
		ready := s.Client.Must(t, http.StatusOK, box.Request{Method: http.MethodGet, URL: s.URL("/readyz")})
		if !strings.Contains(string(ready.Body), tc.readyz) {
			t.Errorf("%s: /readyz answers %s, want %s", name, ready.Body, tc.readyz)
		}
		log := s.Servers[0].Log.String()
		warned := strings.Contains(log, "a restart or a failover of Redis would not be noticed")
		if warned != tc.warns {
			t.Errorf("%s: warned is %t, want %t", name, warned, tc.warns)
		}
		if strings.Contains(log, "NOPERM") != tc.warns {
			t.Errorf("%s: the log has commands that Redis refuses, or has none", name)
		}
		for _, srv := range s.Servers {
			if code, err := srv.Terminate(); err != nil || code != 0 {
				t.Errorf("exit code %d, %v", code, err)
			}
		}
	}
}

// anys converts words to the arguments of a command.
func anys(words []string) []any {
	args := make([]any, len(words))
	for i, word := range words {
		args[i] = word
	}
	return args
}
