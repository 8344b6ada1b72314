package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"seckill/internal/testkit/freeport"
)

// StartMySQL9 starts a mysqld of MySQL 9 with an empty data directory and the settings of [StartMariaDB]. No release of
// Debian has it, so it is unpacked from unstable and runs with the libraries from there. If it is not available, the
// error says so.
func StartMySQL9(ctx context.Context) (*MariaDB, error) {
	root, err := unpackUnstable(ctx, "mysql-server-core")
	if err != nil {
		return nil, fmt.Errorf("MySQL 9 could not be had: mysql-server-core of Debian unstable is %w", err)
	}
	loader, program := mysql9Program(root)
	if loader == "" {
		return nil, fmt.Errorf("MySQL 9 could not be had: %s has no loader; remove it to have it unpacked again", root)
	}
	out, err := exec.CommandContext(ctx, loader, slices.Concat(program, []string{"--version"})...).CombinedOutput()
	version := versionPattern.FindString(string(out))
	if err != nil {
		return nil, fmt.Errorf("MySQL 9 could not be had: the mysqld of Debian unstable does not run: %w: %s",
			err, tail(out, 600))
	}
	if !strings.HasPrefix(version, "9.") {
		return nil, fmt.Errorf("MySQL 9 could not be had: Debian unstable has %s", version)
	}
	p, err := newProcess("mysql9", loader)
	if err != nil {
		return nil, err
	}
	m := &MariaDB{Dir: p.dir.path, Version: version, password: rand.Text(), proc: p}
	if err := m.runMySQL9(ctx, root, program); err != nil {
		return nil, errors.Join(err, p.close())
	}
	return m, nil
}

// mysql9Program returns the loader of the unpacked libraries, and the arguments with which it runs mysqld.
func mysql9Program(root string) (loader string, program []string) {
	loaders, err := filepath.Glob(filepath.Join(root, "usr", "lib*", "ld-linux*.so.*"))
	if err != nil || len(loaders) == 0 {
		return "", nil
	}
	libraries, err := filepath.Glob(filepath.Join(root, "usr", "lib", "*-linux-gnu"))
	if err != nil {
		return "", nil
	}
	libraries = append(libraries, filepath.Join(root, "usr", "lib", "mysql", "private"))
	return loaders[0],
		[]string{"--library-path", strings.Join(libraries, ":"), filepath.Join(root, "usr", "sbin", "mysqld")}
}

// runMySQL9 initializes the data directory and starts the server for the first time.
func (m *MariaDB) runMySQL9(ctx context.Context, root string, program []string) error {
	common := slices.Concat(program, []string{"--no-defaults"}, asRoot(), []string{
		"--basedir=" + filepath.Join(root, "usr"), "--lc-messages-dir=" + filepath.Join(root, "usr", "share", "mysql"),
		"--plugin-dir=" + filepath.Join(root, "usr", "lib", "mysql", "plugin"), "--datadir=" + m.data(),
		"--secure-file-priv=NULL", "--character-sets-dir=" + filepath.Join(root, "usr", "share", "mysql", "charsets"),
	})
	if err := os.MkdirAll(m.data(), 0o700); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, m.proc.path, slices.Concat(common, []string{"--initialize-insecure"})...)
	cmd.Dir = m.Dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("mysqld --initialize-insecure: %w: %s", err, tail(out, 1500))
	}
	initFile, err := m.writeInitFile()
	if err != nil {
		return err
	}
	return onFreePort(ctx, func(port int) error {
		m.Addr = freeport.Addr(port)
		m.proc.args = slices.Concat(common, []string{
			"--init-file=" + initFile, "--bind-address=127.0.0.1", "--port=" + strconv.Itoa(port),
			"--socket=mysql.sock", "--mysqlx=OFF", "--pid-file=" + filepath.Join(m.Dir, "mysql.pid"), "--skip-log-bin",
			"--skip-name-resolve", "--innodb-buffer-pool-size=64M", "--innodb-redo-log-capacity=64M",
			"--max-connections=300", "--character-set-server=utf8mb4", "--performance-schema=OFF",
		})
		return m.Start(ctx)
	})
}
