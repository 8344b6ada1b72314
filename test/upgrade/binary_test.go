package upgrade

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"seckill/test/box"
	"seckill/test/upgrade/version"
)

const (
	// envFrom names the commit of the version before, instead of the one in the file FROM.
	envFrom = "SECKILL_TEST_UPGRADE_FROM"
	root    = "../.."
)

var update = flag.Bool("update", false, "write the fixtures that the version before makes into testdata")

// builtBefore builds the server of the version before once per test process.
var builtBefore = sync.OnceValues(func() (string, error) {
	commit, err := from()
	if err != nil {
		return "", err
	}
	return built("before", func(file string) error { return version.Build(context.Background(), root, commit, file) })
})

// built lets a build write a file in the user's cache, one for each checkout and version, and returns its path. It is
// moved into place whole, so that another run never starts half of it.
func built(name string, build func(file string) error) (string, error) {
	checkout, err := filepath.Abs(root)
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	dir := filepath.Join(cache, "seckill-test", "upgrade", strings.ReplaceAll(checkout, string(filepath.Separator), "_"))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	half, err := os.CreateTemp(dir, name)
	if err != nil {
		return "", err
	}
	if err := errors.Join(half.Close(), build(half.Name())); err != nil {
		return "", errors.Join(err, os.Remove(half.Name()))
	}
	final := filepath.Join(dir, name)
	return final, os.Rename(half.Name(), final)
}

// from returns the commit of the version before.
func from() (string, error) {
	if commit := os.Getenv(envFrom); commit != "" {
		return commit, nil
	}
	text, err := os.ReadFile("FROM")
	return string(bytes.TrimSpace(text)), err
}

// release is one of the two versions.
type release struct{ name, binary string }

func before(tb testing.TB) release {
	tb.Helper()
	binary, err := builtBefore()
	if err != nil {
		tb.Fatal(err)
	}
	return release{"before", binary}
}

func today(tb testing.TB) release {
	tb.Helper()
	return release{"today", box.Binary(tb)}
}

// todaysCommand runs a command of today's version to its end with the site's settings, and returns what it printed. Its
// exit code must be 0.
func todaysCommand(tb testing.TB, settings map[string]string, args ...string) string {
	tb.Helper()
	out := box.Command(tb, settings, args...)
	if out.Code != 0 {
		tb.Fatalf("server %v: exit code %d\n%s%s", args, out.Code, out.Stdout, out.Stderr)
	}
	return out.Stdout + out.Stderr
}
