package server

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The environment variables that choose the program that [StartRedis] or [StartMariaDB] runs, instead of the system's:
// a path, or the name of one that is unpacked from Debian unstable.
const (
	EnvRedisProgram = "SECKILL_TEST_REDIS_PROGRAM" // or "redis8", "valkey"
	EnvMySQLProgram = "SECKILL_TEST_MYSQL_PROGRAM" // or "mariadb11", "mysql9"
)

// unstable is a program of Debian unstable.
type unstable struct {
	version  string   // the prefix that its version must have
	packages []string // the packages with the program
	program  string   // its path below the root
	args     string   // shell words appended to the caller's arguments; $root is the folder with the unpacked packages
	helpers  []string // paths of programs that it needs
}

// newerRedis returns the programs of Debian unstable, by their name in EnvRedisProgram.
func newerRedis() map[string]unstable {
	return map[string]unstable{
		"redis8": {version: "8.", packages: []string{"redis-server"}, program: "usr/bin/redis-server"},
		"valkey": {version: "9.", packages: []string{"valkey-server"}, program: "usr/bin/valkey-server"},
	}
}

// newerMySQL returns the programs of Debian unstable, by their name in EnvMySQLProgram.
func newerMySQL() map[string]unstable {
	const plugins = `--basedir="$root/usr" --plugin-dir="$root/usr/lib/mysql/plugin" `
	return map[string]unstable{
		"mariadb11": {
			version: "11.", packages: []string{"mariadb-server-core", "mariadb-client-core"},
			program: "usr/sbin/mariadbd", helpers: []string{"usr/bin/my_print_defaults"},
			args: plugins + `--lc-messages-dir="$root/usr/share/mariadb" ` +
				`--character-sets-dir="$root/usr/share/mariadb/charsets"`,
		},
		"mysql9": {
			version: "9.", packages: []string{"mysql-server-core"}, program: "usr/sbin/mysqld",
			args: plugins + `--lc-messages-dir="$root/usr/share/mysql" ` +
				`--character-sets-dir="$root/usr/share/mysql/charsets"`,
		},
	}
}

// chosenProgram returns the path of the program that the environment variable chooses; "" if it is not set.
func chosenProgram(ctx context.Context, env string, newer map[string]unstable) (string, error) {
	name := os.Getenv(env)
	if name == "" {
		return "", nil
	}
	if u, is := newer[name]; is {
		path, err := u.path(ctx, name)
		if err != nil {
			return "", fmt.Errorf("%s=%s: %s of Debian unstable: %w", env, name, u.packages[0], err)
		}
		return path, nil
	}
	path := find(name)
	if path == "" {
		return "", fmt.Errorf("%s=%s is neither a program nor one of %s",
			env, name, strings.Join(slices.Sorted(maps.Keys(newer)), ", "))
	}
	return filepath.Abs(path) // servers start in directories of their own
}

// path returns the path of the unpacked program.
func (u unstable) path(ctx context.Context, name string) (string, error) {
	root, err := unpackOnce(ctx, "unstable-"+name, func(ctx context.Context, apt, dir string) error {
		if err := unpackSuite(ctx, apt, dir, "sid", u.packages, unpack); err != nil {
			return err
		}
		return u.wrap(filepath.Join(dir, "root"))
	})
	if err != nil {
		return "", err
	}
	path := filepath.Join(root, u.program)
	_, version, err := describe(ctx, path)
	if err == nil && !strings.HasPrefix(version, u.version) {
		err = fmt.Errorf("%s is version %s, not %s*; remove %s to have it unpacked again",
			path, version, u.version, root)
	}
	return path, err
}

// wrapper runs a program with its own loader and libraries, wherever the root lies: the system's may be too old.
const wrapper = `#!/bin/sh
root=${0%%/usr/*}
exec "$root/%s" --library-path "%s" "$0.elf" "$@" %s
`

// wrap replaces the programs below the root by scripts that run them.
func (u unstable) wrap(root string) error {
	loaders, errLoaders := filepath.Glob(filepath.Join(root, "usr", "lib*", "ld-linux*.so.*"))
	libraries, errLibraries := filepath.Glob(filepath.Join(root, "usr", "lib", "*-linux-gnu"))
	if err := errors.Join(errLoaders, errLibraries); err != nil {
		return err
	}
	if len(loaders) == 0 {
		return fmt.Errorf("%v have no loader", u.packages)
	}
	loader := strings.TrimPrefix(loaders[0], root+"/")
	libraries = append(libraries, filepath.Join(root, "usr", "lib", "mysql", "private"))
	for i := range libraries {
		libraries[i] = "$root" + strings.TrimPrefix(libraries[i], root)
	}
	for _, path := range append([]string{u.program}, u.helpers...) {
		args := ""
		if path == u.program {
			args = u.args
		}
		path = filepath.Join(root, path)
		script := fmt.Sprintf(wrapper, loader, strings.Join(libraries, ":"), args)
		if err := os.Rename(path, path+".elf"); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
			return err
		}
	}
	return nil
}
