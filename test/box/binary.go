package box

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"seckill/internal/testkit/child"
)

// envServer is the environment variable with a server to test instead of this checkout's, such as a deliberately broken
// one (lab/mutants).
const envServer = "SECKILL_TEST_SERVER"

// builtBinary builds the server once per test process.
//
//nolint:gochecknoglobals // testing passes nothing from TestMain to tests
var builtBinary = sync.OnceValues(buildBinary)

// Binary returns the path of the server, built from this checkout unless the environment names another.
func Binary(tb testing.TB) string {
	tb.Helper()
	if path := os.Getenv(envServer); path != "" {
		return path
	}
	path, err := builtBinary()
	if err != nil {
		tb.Fatal(err)
	}
	return path
}

// buildBinary builds the server as it is released.
func buildBinary() (string, error) { return buildServer("server") }

// builtLoadgen builds loadgen once per test process.
//
//nolint:gochecknoglobals // as above
var builtLoadgen = sync.OnceValues(func() (string, error) { return build("loadgen", "./cmd/loadgen") })

// Loadgen returns the path of loadgen, built from this checkout.
func Loadgen(tb testing.TB) string {
	tb.Helper()
	path, err := builtLoadgen()
	if err != nil {
		tb.Fatal(err)
	}
	return path
}

// buildServer builds the server; args are more arguments of go build.
func buildServer(name string, args ...string) (string, error) {
	return build(name, "./cmd/server", args...)
}

// build builds a program without cgo, and without the race detector, which the packages' own tests use. The file has
// one name per checkout, so that old binaries do not pile up. A rename puts it in place, so that another run never
// starts an incomplete file.
func build(name, pkg string, args ...string) (string, error) {
	root, err := child.Root(context.Background())
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	dir := filepath.Join(cache, "seckill-test")
	if err = os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	final := filepath.Join(dir, fmt.Sprintf("%s-%.8x", name, sha256.Sum256([]byte(root))))
	built := fmt.Sprintf("%s.%d", final, os.Getpid())
	if err := child.Build(context.Background(), root, pkg, built, args...); err != nil {
		return "", err
	}
	return final, os.Rename(built, final)
}

// Output is the result of a command of the server.
type Output struct {
	Code           int
	Stdout, Stderr string
}

// Command runs the server's binary with the arguments to its end, with only the given settings.
func Command(tb testing.TB, settings map[string]string, args ...string) Output {
	tb.Helper()
	server := Binary(tb) // before the time limit starts: building may take long
	ctx, cancel := context.WithTimeout(tb.Context(), Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, server, args...)
	cmd.Dir = tb.TempDir() // the default data directory is relative
	cmd.Env = environment(settings)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		tb.Fatalf("running server %v: %v", args, err)
	}
	if ctx.Err() != nil {
		tb.Fatalf("server %v has not ended within %v\n%s%s", args, Patience, &stdout, &stderr)
	}
	return Output{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}
