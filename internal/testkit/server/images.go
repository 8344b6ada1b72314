package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// InstallEngine installs Docker's engine with what it runs, and the programs that give it a network of its own.
func InstallEngine(ctx context.Context) error {
	programs := []string{"dockerd", "docker", "containerd", "runc", "iptables", "unshare", "tini", "ip"}
	look := func() bool {
		return !slices.ContainsFunc(programs, func(name string) bool { return find(name) == "" })
	}
	packages := []string{"docker.io", "containerd", "runc", "iptables", "tini", "iproute2", "util-linux"}
	if err := ensure(ctx, look, packages); err != nil {
		return fmt.Errorf("docker's engine is %w; "+
			"install it (Debian: apt-get install docker.io iptables tini iproute2)", err)
	}
	return nil
}

// Root is a file system made of Debian's packages, which are unpacked and not configured.
type Root struct {
	Name     string
	Suites   []string // the first from which all packages can be had
	Packages []string
}

// Unpack returns the folder with the file system. It is made once.
func (r Root) Unpack(ctx context.Context) (string, error) {
	return unpackOnce(ctx, "root-"+r.Name, func(ctx context.Context, apt, dir string) (err error) {
		for _, suite := range r.Suites {
			var failed error
			if failed = unpackSuite(ctx, apt, dir, suite, r.Packages, unpackMerged); failed == nil {
				return nil
			}
			err = errors.Join(err, fmt.Errorf("debian %s: %w", suite, failed))
			if failed = os.RemoveAll(filepath.Join(dir, "root")); failed != nil {
				return errors.Join(err, failed)
			}
		}
		return err
	})
}

// unpackMerged unpacks all packages of a directory where /bin, /lib and the like are links into /usr, and gives busybox
// its names.
func unpackMerged(ctx context.Context, dir, root string) error {
	for _, name := range []string{"bin", "sbin", "lib", "lib64"} {
		if err := os.MkdirAll(filepath.Join(root, "usr", name), 0o755); err != nil {
			return err
		}
		if err := os.Symlink(filepath.Join("usr", name), filepath.Join(root, name)); err != nil {
			return err
		}
	}
	const script = `for deb in "$1"/*.deb; do
	dpkg-deb --fsys-tarfile "$deb" | tar -x --keep-directory-symlink -C "$2" || exit 1
done
[ ! -e "$2/usr/bin/busybox" ] || "$2/usr/bin/busybox" --list | while read -r name; do
	[ -e "$2/usr/bin/$name" ] || [ -L "$2/usr/bin/$name" ] || [ -e "$2/usr/sbin/$name" ] ||
		ln -s busybox "$2/usr/bin/$name"
done`
	if out, err := exec.CommandContext(ctx, "bash", "-o", "pipefail", "-c", script, "unpack", dir, root).
		CombinedOutput(); err != nil {
		return fmt.Errorf("unpack %s: %w: %s", dir, err, tail(out, 600))
	}
	return os.Chmod(root, 0o755)
}
