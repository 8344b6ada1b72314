package server

import (
	"context"
	"crypto/sha256"
	_ "embed" // for clock.c
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// ClockEnv is the environment variable with the file that holds a program's [Clock].
const ClockEnv = "TEST_CLOCK"

//go:embed testdata/clock.c
var clockSource []byte

// Clock is a wall clock with an offset set by a test, for programs started with it. Changes take effect immediately.
// The programs' monotonic clock stays correct, as when a machine's clock is set.
//
// It replaces libfaketime: that makes redis-server hang, because its allocator asks for the time at the start; and a
// static Go program does not ask the C library.
type Clock struct{ File string }

// NewClock returns a correct clock. The file must be on a local disk.
func NewClock(file string) (*Clock, error) {
	c := &Clock{file}
	err := c.Set(0)
	return c, err
}

// Set makes the clock deviate by the offset; a negative one puts it behind.
func (c *Clock) Set(offset time.Duration) error {
	f, err := os.OpenFile(c.File, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(binary.NativeEndian.AppendUint64(nil, uint64(offset)), 0) // in place: the file is mapped
	return errors.Join(err, f.Close())
}

// environ returns the environment variables that make a program with the C library use this clock.
func (c *Clock) environ(ctx context.Context) ([]string, error) {
	library, err := clockLibrary(ctx)
	if err != nil {
		return nil, fmt.Errorf("a clock that can be set: %w", err)
	}
	return []string{"LD_PRELOAD=" + library, ClockEnv + "=" + c.File}, nil
}

// clockLibrary returns the path of the compiled clock.c. Each version is compiled only once.
func clockLibrary(ctx context.Context) (string, error) {
	if err := ensure(ctx, func() bool { return find("cc", "gcc") != "" }, []string{"gcc", "libc6-dev"}); err != nil {
		return "", fmt.Errorf("a C compiler is %w; install one (Debian: apt-get install gcc libc6-dev)", err)
	}
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	library := filepath.Join(cache, fmt.Sprintf("clock-%.12x.so", sha256.Sum256(clockSource)))
	if _, err := os.Stat(library); err == nil {
		return library, nil
	}
	source, half := fmt.Sprintf("%s.%d.c", library, os.Getpid()), fmt.Sprintf("%s.%d", library, os.Getpid())
	if err := os.WriteFile(source, clockSource, 0o600); err != nil {
		return "", err
	}
	defer func() { _ = os.Remove(source) }() // another process can write it again
	cmd := exec.CommandContext(ctx, find("cc", "gcc"), "-shared", "-fPIC", "-O2", "-Wall",
		"-Werror", "-o", half, source)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("compiling clock.c: %w: %s", err, tail(out, 1500))
	}
	return library, os.Rename(half, library) // another process may have compiled the same file
}

// cacheDir returns the directory for test files that take long to create.
func cacheDir() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	cache = filepath.Join(cache, "seckill-testkit")
	return cache, os.MkdirAll(cache, 0o700)
}
