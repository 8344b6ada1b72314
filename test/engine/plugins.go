package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"seckill/internal/testkit/server"
)

// pluginRoots are the packages of Docker's plugins.
func pluginRoots() []server.Root {
	suites := []string{"sid", "testing"}
	return []server.Root{
		{Name: "docker-compose", Suites: suites, Packages: []string{"docker-compose"}},
		{Name: "docker-buildx", Suites: suites, Packages: []string{"docker-buildx"}},
	}
}

// plugins puts Docker's plugins Compose and buildx into the configuration of this run. Debian's own Compose is too old;
// those of Debian unstable are files that run alone.
func (e *engine) plugins(ctx context.Context) error {
	dir := filepath.Join(e.run, "config", "cli-plugins")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, root := range pluginRoots() {
		name := root.Name
		unpacked, err := root.Unpack(ctx)
		if err != nil {
			return fmt.Errorf("docker's plugin %s: %w", name, err)
		}
		found, err := filepath.Glob(filepath.Join(unpacked, "usr", "libexec", "docker", "cli-plugins", name))
		if err == nil && len(found) == 0 {
			found, err = filepath.Glob(filepath.Join(unpacked, "usr", "lib", "docker", "cli-plugins", name))
		}
		if err != nil || len(found) == 0 {
			return errors.Join(err, fmt.Errorf("the package %s has no such plugin", name))
		}
		if err := os.Symlink(found[0], filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	_, err := e.docker(ctx, "compose", "version")
	return err
}
