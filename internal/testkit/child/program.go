package child

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// Build builds a program like a release, without cgo, and without the race detector. tree is a folder of its module,
// pkg the package relative to it, and out the absolute path of the result. flags are passed to go build.
func Build(ctx context.Context, tree, pkg, out string, flags ...string) error {
	args := append([]string{"build", "-o", out}, flags...)
	cmd := exec.CommandContext(ctx, "go", append(args, pkg)...)
	cmd.Dir = tree
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s in %s: %w\n%s", pkg, tree, err, output)
	}
	return nil
}

// Root returns the folder of the service's module, from anywhere in it or in a module that requires it.
func Root(ctx context.Context) (string, error) {
	const here = "seckill/internal/testkit/child"
	out, err := exec.CommandContext(ctx, "go", "list", "-f", "{{.Module.Dir}}", here).Output()
	if err != nil {
		return "", fmt.Errorf("finding the checkout: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// Environment returns this process's environment without the service's settings, plus the given ones (NAME=value).
func Environment(settings ...string) []string {
	var env []string
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "SECKILL_") {
			env = append(env, kv)
		}
	}
	return append(env, settings...)
}
