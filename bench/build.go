package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// binaries are the contestants, built from this checkout as they are released: without the race detector.
type binaries struct{ dir string }

// build builds them. It is run in the module, as `go run ./bench` is.
func build(ctx context.Context, progress io.Writer) (binaries, error) {
	dir, err := os.MkdirTemp("", "seckill-bench-")
	if err != nil {
		return binaries{}, err
	}
	b := binaries{dir}
	for name, pkg := range map[string]string{"server": "cmd/server", "stages": "bench/stages"} {
		fmt.Fprintln(progress, "building", name)
		cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", b.path(name), "seckill/"+pkg)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return binaries{}, errors.Join(fmt.Errorf("building %s: %w\n%s", name, err, out), os.RemoveAll(dir))
		}
	}
	return b, nil
}

func (b binaries) path(name string) string { return filepath.Join(b.dir, name) }

func (b binaries) remove() { _ = os.RemoveAll(b.dir) } // in the temporary directory; nothing depends on it
