package child_test

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"seckill/internal/testkit"
	"seckill/internal/testkit/child"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// start starts a shell script.
func start(t *testing.T, script string) *child.Process {
	t.Helper()
	p, err := child.Start(exec.CommandContext(t.Context(), "sh", "-c", script))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p
}

var errNever = errors.New("never")

// never is a check that does not succeed.
func never(context.Context) error { return errNever }

// TestAwait checks that Await returns when the check succeeds, when the process has ended, or when ctx ends, then with
// the check's last error.
func TestAwait(t *testing.T) {
	t.Parallel()
	looks := 0
	p := start(t, "exec sleep 60")
	if err := p.Await(t.Context(), func(context.Context) error {
		if looks++; looks < 3 {
			return errNever
		}
		return nil
	}); err != nil || looks != 3 {
		t.Errorf("%v after %d looks", err, looks)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if err := p.Await(ctx, never); !errors.Is(err, errNever) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("when ctx ends: %v", err)
	}
	if err := start(t, "exit 3").Await(t.Context(), never); !errors.Is(err, child.ErrEnded) ||
		!strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("of a process that ends: %v", err)
	}
}

// TestStop checks that SIGTERM ends a process, that SIGKILL ends one that ignores SIGTERM, and that a process has its
// own process group.
func TestStop(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]int{
		"trap 'exit 7' TERM; touch READY; while :; do sleep 0.01; done": 7,
		"trap '' TERM; touch READY; while :; do sleep 0.01; done":       -1,
	} {
		ready := filepath.Join(t.TempDir(), "ready")
		p := start(t, strings.ReplaceAll(script, "READY", ready))
		if err := p.Await(t.Context(), func(ctx context.Context) error {
			return exec.CommandContext(ctx, "test", "-e", ready).Run()
		}); err != nil {
			t.Fatal(err)
		}
		if group, err := syscall.Getpgid(p.PID()); err != nil || group != p.PID() {
			t.Errorf("its process group is %d, %v; it is %d", group, err, p.PID())
		}
		p.Stop(500 * time.Millisecond)
		if code := p.ExitCode(); code != want || p.Running() {
			t.Errorf("%s: exit code %d, want %d", script, code, want)
		}
		p.Stop(0) // does nothing more
	}
}

func TestStartFails(t *testing.T) {
	t.Parallel()
	if _, err := child.Start(exec.CommandContext(t.Context(), "/nowhere")); err == nil {
		t.Error("a missing program was started")
	}
}

// TestEnvironment checks that no setting of this process reaches a child.
func TestEnvironment(t *testing.T) {
	t.Setenv("SECKILL_JWT_SECRET", "ours")
	t.Setenv("ANOTHER", "kept")
	env := child.Environment("SECKILL_HTTP_ADDR=here")
	for setting, want := range map[string]bool{
		"ANOTHER=kept": true, "SECKILL_HTTP_ADDR=here": true, "SECKILL_JWT_SECRET=ours": false,
	} {
		if slices.Contains(env, setting) != want {
			t.Errorf("the child has %s: %t", setting, !want)
		}
	}
}
