package upgrade

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"seckill/lab/version"
	"seckill/migrations"
)

// TestDayOnNewerTables runs the previous version's own black-box tests, which ask every route and sell in every way, on
// the tables of today: that version gets today's migrations, and nothing else of today. make -C lab upgrade-day runs
// it.
func TestDayOnNewerTables(t *testing.T) {
	t.Parallel()
	commit := os.Getenv(envFrom)
	if commit == "" {
		t.Fatalf("%s does not name the previous version", envFrom)
	}
	dir := t.TempDir()
	id, err := version.Resolve(t.Context(), root, commit)
	if err == nil {
		err = version.Extract(t.Context(), root, id, dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	if n := addMigrations(t, filepath.Join(dir, "migrations")); n == 0 {
		t.Fatalf("today has no migration that %s lacks", commit)
	}
	cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-vet=off", "-timeout=40m",
		"-run="+cmp.Or(os.Getenv("SECKILL_TEST_DAY"), "."), "./test")
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		t.Errorf("the tests of %s on today's tables: %v", commit, err)
	}
}

// addMigrations adds those of today that a version lacks to its own, and returns how many there are.
func addMigrations(t *testing.T, folder string) (n int) {
	t.Helper()
	files, err := fs.Glob(migrations.FS, "*/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		to := filepath.Join(folder, filepath.FromSlash(file))
		if _, err := os.Stat(to); err == nil {
			continue
		} else if !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		text, err := fs.ReadFile(migrations.FS, file)
		if err == nil {
			err = os.WriteFile(to, text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}
