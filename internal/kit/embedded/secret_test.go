package embedded

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestSecretIsMadeOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	h := open(t, dir)
	secrets := make([]string, 8)
	var wg sync.WaitGroup
	for i := range secrets {
		wg.Go(func() { secrets[i] = secretOf(t, h) })
	}
	wg.Wait()
	closeHome(t, h)
	again := secretOf(t, open(t, dir))
	for _, s := range secrets {
		if s != again {
			t.Fatalf("secrets %q at first and %q at the next start", secrets, again)
		}
	}
	if len(again) != 64 {
		t.Errorf("the secret has %d characters, want 64", len(again))
	}
	if other := secretOf(t, open(t, t.TempDir())); other == again {
		t.Error("two directories have the same secret")
	}
}

func TestReadSecretBesideTheHolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	h := open(t, dir)
	if _, err := ReadSecret(dir); !errors.Is(err, ErrNoSecret) {
		t.Errorf("without a secret: %v, want ErrNoSecret", err)
	}
	want := secretOf(t, h)
	if got, err := ReadSecret(dir); err != nil || got != want {
		t.Errorf("ReadSecret: %q, %v, want %q", got, err, want)
	}
}

func TestSecretIsMadePrivateAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	want := secretOf(t, open(t, dir))
	path := filepath.Join(dir, secretName)
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	h := &Home{dir: dir, log: slog.New(slog.NewTextHandler(&out, nil))}
	if got := secretOf(t, h); got != want {
		t.Errorf("the secret is %q now, was %q", got, want)
	}
	wantMode(t, path, 0o600)
	if !strings.Contains(out.String(), "other users could read the secret") || strings.Contains(out.String(), want) {
		t.Errorf("logged %q, want a warning without the secret", out.String())
	}
}

func TestSecretRefusesForeignFiles(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"empty": "", "cut off": strings.Repeat("ab", 31), "not hexadecimal": strings.Repeat("xy", 32),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := open(t, t.TempDir())
			if err := os.WriteFile(filepath.Join(h.dir, secretName), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if got, err := h.Secret(); err == nil {
				t.Errorf("the secret is %q, want an error", got)
			}
		})
	}
	t.Run("link", func(t *testing.T) {
		t.Parallel()
		elsewhere, h := open(t, t.TempDir()), open(t, t.TempDir())
		secretOf(t, elsewhere)
		if err := os.Symlink(filepath.Join(elsewhere.dir, secretName), filepath.Join(h.dir, secretName)); err != nil {
			t.Fatal(err)
		}
		if got, err := h.Secret(); err == nil {
			t.Errorf("the secret is %q, want an error", got)
		}
	})
}

func TestWriteFileLeavesNothingBehindWhenItFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "taken"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := writeFile(dir, "taken", []byte("x")); err == nil {
		t.Error("a directory was replaced")
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("files %v, %v, want only the directory", entries, err)
	}
}

func secretOf(t *testing.T, h *Home) string {
	t.Helper()
	s, err := h.Secret()
	if err != nil {
		t.Error(err)
	}
	return s
}
