package embedded

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

func TestSecondOpenFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	open(t, dir)
	_, err := Open(dir, quiet())
	if !errors.Is(err, ErrInUse) {
		t.Fatalf("second Open: %v, want ErrInUse", err)
	}
	if want := fmt.Sprintf("process %d;", os.Getpid()); !strings.Contains(err.Error(), want) {
		t.Errorf("%q does not contain %q", err, want)
	}
}

// OpenExisting creates nothing if there is no database.
func TestOpenExisting(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	dir := filepath.Join(parent, "data")
	if _, err := OpenExisting(dir, quiet()); !errors.Is(err, ErrNoDatabase) || !strings.Contains(err.Error(), dir) {
		t.Errorf("without a directory: %v, want ErrNoDatabase with its name", err)
	}
	if made, err := os.ReadDir(parent); err != nil || len(made) > 0 {
		t.Errorf("OpenExisting created %v (%v)", made, err)
	}
	if err := open(t, dir).Close(); err != nil {
		t.Fatal(err)
	}
	h, err := OpenExisting(dir, quiet())
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}

func TestOpenWhileTheHolderHasNotWrittenItsID(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	h := open(t, dir)
	if err := h.lock.write(""); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, quiet()); !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), "another process;") {
		t.Errorf("second Open: %v, want ErrInUse by another process", err)
	}
}

func TestOpenAfterTheHolderWasKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	holder := exec.CommandContext(t.Context(), os.Args[0])
	holder.Env, holder.Dir = append(os.Environ(), holdEnv+"=1"), dir
	if _, err := holder.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "held\n" {
		t.Fatalf("the other process wrote %q, %v", line, err)
	}
	_, err = Open(dir, quiet())
	if want := fmt.Sprintf("process %d;", holder.Process.Pid); !errors.Is(err, ErrInUse) ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("Open beside another process: %v, want ErrInUse by %s", err, want)
	}
	if err := holder.Process.Kill(); err != nil { // SIGKILL: its cleanup does not run
		t.Fatal(err)
	}
	_ = holder.Wait() // the error says that it was killed
	open(t, dir)
}

func TestCloseUnlocksTheDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	h := open(t, dir)
	for range 2 {
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
	}
	open(t, dir)
}

func TestFreshUntilSettled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for range 2 { // an incomplete start must not change Fresh
		h := open(t, dir)
		if !h.Fresh {
			t.Fatal("the directory is not fresh although no start was completed")
		}
		closeHome(t, h)
	}
	h := open(t, dir)
	for range 2 {
		if err := h.MarkSettled(); err != nil {
			t.Fatal(err)
		}
	}
	closeHome(t, h)
	if open(t, dir).Fresh {
		t.Error("a settled directory is fresh")
	}
}

func TestFilesArePrivate(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "data")
	h := open(t, dir)
	if _, err := h.Secret(); err != nil {
		t.Fatal(err)
	}
	if err := h.MarkSettled(); err != nil {
		t.Fatal(err)
	}
	wantMode(t, dir, fs.ModeDir|0o700)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 4 {
		t.Errorf("%d files %v, want lock, secret, database and mark", len(entries), entries)
	}
	for _, e := range entries {
		wantMode(t, filepath.Join(dir, e.Name()), 0o600)
	}
}

func TestOpenKeepsTheDatabase(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	h := open(t, dir)
	if err := os.WriteFile(h.SQLitePath, []byte("orders"), 0o600); err != nil {
		t.Fatal(err)
	}
	closeHome(t, h)
	got, err := os.ReadFile(open(t, dir).SQLitePath)
	if err != nil || string(got) != "orders" {
		t.Errorf("the database is %q, %v after another start", got, err)
	}
}

func TestOpenWarnsOfAWritableDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	h, err := Open(dir, slog.New(slog.NewTextHandler(&out, nil)))
	if err != nil {
		t.Fatal(err)
	}
	closeHome(t, h)
	if !strings.Contains(out.String(), "other users can write") {
		t.Errorf("logged %q, want a warning", out.String())
	}
	wantMode(t, dir, fs.ModeDir|0o777) // Open must not change it
}

func TestOpenNeedsADirectory(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(file, quiet()); err == nil {
		t.Error("Open of a file succeeded")
	}
}

func TestRedisRequiresThePassword(t *testing.T) {
	t.Parallel()
	h := open(t, t.TempDir())
	for name, password := range map[string]string{"none": "", "wrong": "guess"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stranger := redis.NewClient(&redis.Options{Addr: h.Addr, Password: password, MaxRetries: -1})
			t.Cleanup(func() { _ = stranger.Close() })
			if err := stranger.Eval(t.Context(), "return redis.call('SET', KEYS[1], '1')",
				[]string{"k"}).Err(); err == nil {
				t.Error("a stranger ran a script")
			}
			if err := stranger.Get(t.Context(), "k").Err(); err == nil || errors.Is(err, redis.Nil) {
				t.Errorf("a stranger read: %v", err)
			}
		})
	}
	if err := client(t, h).Set(t.Context(), "k", "1", 0).Err(); err != nil {
		t.Errorf("with the password: %v", err)
	}
	if !strings.HasPrefix(h.Addr, "127.0.0.1:") {
		t.Errorf("Redis listens on %s, want the loopback", h.Addr)
	}
	if other := open(t, t.TempDir()); other.Password == h.Password || len(h.Password) < 20 {
		t.Errorf("passwords %q and %q, want two that cannot be guessed", h.Password, other.Password)
	}
}

func TestRedisStartsEmpty(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	h := open(t, dir)
	c := client(t, h)
	if err := c.Set(t.Context(), "k", "1", 0).Err(); err != nil {
		t.Fatal(err)
	}
	_ = c.Close() // the second Close at the end has no effect
	closeHome(t, h)
	if n, err := client(t, open(t, dir)).DBSize(t.Context()).Result(); n != 0 || err != nil {
		t.Errorf("%d keys, %v at the start, want none", n, err)
	}
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func open(t *testing.T, dir string) *Home {
	t.Helper()
	h, err := Open(dir, quiet())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeHome(t, h) })
	return h
}

func closeHome(t *testing.T, h *Home) {
	t.Helper()
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}

func client(t *testing.T, h *Home) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: h.Addr, Password: h.Password})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func wantMode(t *testing.T, path string, want fs.FileMode) {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode() != want {
		t.Errorf("%s has mode %v, want %v", path, info.Mode(), want)
	}
}
