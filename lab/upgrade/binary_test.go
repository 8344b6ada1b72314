package upgrade

import (
	"os"
	"path/filepath"
	"testing"

	"seckill/lab/version"
	"seckill/test/box"
)

const (
	// envFrom names the previous version: its commit, or the server of an archive that make release built. Without
	// it, the work tree runs beside itself.
	envFrom = "SECKILL_TEST_UPGRADE_FROM"
	root    = "../.."
)

// release is one of the two versions.
type release struct{ name, binary string }

func before(tb testing.TB) release {
	tb.Helper()
	commit := os.Getenv(envFrom)
	if commit == "" {
		return release{"before", box.Binary(tb)}
	}
	if file, err := os.Stat(commit); err == nil && file.Mode().IsRegular() {
		return release{"before", commit}
	}
	binary := filepath.Join(tb.TempDir(), "before")
	if err := version.Build(tb.Context(), root, commit, binary); err != nil {
		tb.Fatal(err)
	}
	return release{"before", binary}
}

func today(tb testing.TB) release {
	tb.Helper()
	return release{"today", box.Binary(tb)}
}
