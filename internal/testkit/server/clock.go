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

// ClockEnv names the environment variable with the file in which a program's [Clock] stands.
const ClockEnv = "TEST_CLOCK"

//go:embed testdata/clock.c
var clockSource []byte

// Clock is a wall clock that is off by what a test says, for programs that were started with it. Its steps reach them
// at once. Their monotonic clock stays right, as it does when the clock of a machine is set.
//
// It is not libfaketime: a redis-server under that one hangs, because its allocator asks for the time while it
// starts; and a static Go program does not ask the C library.
type Clock struct{ File string }

// NewClock returns a clock that is right. The file must be on a local disk.
func NewClock(file string) (*Clock, error) {
	c := &Clock{file}
	err := c.Set(0)
	return c, err
}

// Set makes the clock wrong by the offset: below 0 it is behind.
func (c *Clock) Set(offset time.Duration) error {
	f, err := os.OpenFile(c.File, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(binary.NativeEndian.AppendUint64(nil, uint64(offset)), 0) // in place: others have mapped it
	return errors.Join(err, f.Close())
}

// environ returns what a program that uses the C library has to find in its environment, to go by this clock.
func (c *Clock) environ(ctx context.Context) ([]string, error) {
	library, err := clockLibrary(ctx)
	if err != nil {
		return nil, fmt.Errorf("a clock that can be set: %w", err)
	}
	return []string{"LD_PRELOAD=" + library, ClockEnv + "=" + c.File}, nil
}

// clockLibrary returns the path of the compiled clock.c, which it compiles once for each version of it.
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
	defer func() { _ = os.Remove(source) }() // the next process may make it again
	cmd := exec.CommandContext(ctx, find("cc", "gcc"), "-shared", "-fPIC", "-O2", "-Wall",
		"-Werror", "-o", half, source)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("compiling clock.c: %w: %s", err, tail(out, 1500))
	}
	return library, os.Rename(half, library) // another process may have made the same one
}

// cacheDir returns the directory in which the tests keep what takes long to make.
func cacheDir() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	cache = filepath.Join(cache, "seckill-testkit")
	return cache, os.MkdirAll(cache, 0o700)
}
