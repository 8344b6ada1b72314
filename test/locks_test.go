package test

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"seckill/internal/testkit"
	"seckill/test/box"
)

// TestLocks checks that the command shows who holds the service's locks, and takes one from a running instance, which
// gets it back with a higher token. The audit trail and the log say who did it, and why.
func TestLocks(t *testing.T) {
	t.Parallel()
	s := box.RealSite(t, 1)
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	var first int64
	box.Eventually(t, "the instance's locks", func() error {
		if _, err := lockToken(t, s, "auditor", host); err != nil {
			return err
		}
		first, err = lockToken(t, s, "expirer", host)
		return err
	})
	force := func(code int, words []string, args ...string) {
		t.Helper()
		expectOutput(t, s, code, words, append([]string{"locks", "force"}, args...)...)
	}
	held := []string{"expirer: held by " + host + "/", fmt.Sprintf("token %d", first)}
	force(2, []string{"no name", "server locks list"}, "-why", "test")
	force(2, []string{"-why is missing"}, "-yes", "expirer")
	force(2, append(held, "nothing was done", "-yes"), "-why", "test", "expirer")
	if token, err := lockToken(t, s, "expirer", host); token != first {
		t.Errorf("without -yes the token became %d (%v), want %d as before", token, err, first)
	}
	force(0, append(held, "is free now", "sale:4711: was free",
		`"a lock was forced"`, "lock=expirer", "lock=sale:4711", "by=somebody", `why="it hangs"`),
		"-why", "it hangs", "-by", "somebody", "-yes", "expirer", "sale:4711")
	expectAudited(t, s, "force", `"lock"`, "expirer", "somebody", "it hangs")
	expectAudited(t, s, "force", `"lock"`, "sale:4711", "somebody", "it hangs")
	box.Eventually(t, "the instance's new turn", func() error {
		token, err := lockToken(t, s, "expirer", host)
		if err == nil && token <= first {
			err = fmt.Errorf("the token is %d, and was %d", token, first)
		}
		return err
	})
	expectOutput(t, s, 2, []string{"burn", "list or force"}, "locks", "burn")
	expectOutput(t, s, 2, []string{"list or force"}, "locks")
	expectOutput(t, s, 0, []string{"auditor", "expirer", "lapser", "emptier", "sale:"}, "locks", "--help")
}

// TestLocksUnreachable checks that without Redis no lock is reported as free.
func TestLocksUnreachable(t *testing.T) {
	t.Parallel()
	redis := testkit.StartRedis(t)
	s := box.SiteOn(t, 1, redis.Addr, "", testkit.MySQL(t))
	redis.Kill()
	// The command waits a while for Redis.
	got := box.Command(t, s.Servers[0].Settings, "locks", "force", "-why", "test", "-yes", "expirer")
	if got.Code != 1 || strings.Contains(got.Stdout, "free") || !strings.Contains(got.Stderr, "refused") {
		t.Errorf("exit code %d\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
}

// lockToken returns the token with which a process of the host holds the lock, according to server locks list.
func lockToken(t *testing.T, s *box.Site, name, host string) (int64, error) {
	t.Helper()
	got := box.Command(t, s.Servers[0].Settings, "locks", "list")
	if got.Code != 0 {
		t.Fatalf("exit code %d\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
	line := regexp.MustCompile(fmt.Sprintf(`(?m)^%q +%s/\d+ +[\d.]+m?s +(\d+)$`,
		name, regexp.QuoteMeta(host))).FindStringSubmatch(got.Stdout)
	if line == nil {
		return 0, fmt.Errorf("%s has no line of this host:\n%s", name, got.Stdout)
	}
	return strconv.ParseInt(line[1], 10, 64)
}
