package rig

import (
	"context"
	"fmt"
	"os"
	"os/exec"
)

// Build builds a package of the module in tree as it is released, without the race detector. pkg is its import path,
// out the absolute path of the binary.
func Build(ctx context.Context, tree, pkg, out string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", out, pkg)
	cmd.Dir = tree
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s: %w\n%s", pkg, err, output)
	}
	return nil
}
