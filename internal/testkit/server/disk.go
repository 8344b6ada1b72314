package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// StartMariaDBOnDisk is StartMariaDB with the data directory on its own disk of the given size, which
// [MariaDB.FillDisk] fills. The disk is a tmpfs in a mount namespace that only the server sees. It vanishes with the
// server, which therefore cannot be restarted. It works only on Linux, without root if users may create namespaces.
func StartMariaDBOnDisk(ctx context.Context, megabytes int, args ...string) (*MariaDB, error) {
	if find("unshare") == "" {
		return nil, fmt.Errorf("unshare is %w; install util-linux", errNotInstalled)
	}
	return startMariaDB(ctx, func(m *MariaDB) error {
		m.disk = filepath.Join(m.Dir, "disk")
		script := fmt.Sprintf(
			"set -e; mkdir %[1]q; mount -t tmpfs -o size=%[2]dm tmpfs %[1]q; cp -a %[3]q %[1]q; exec \"$0\" \"$@\"",
			m.disk, megabytes, m.data())
		wrap := []string{"--mount", "sh", "-c", script, m.proc.path}
		if os.Geteuid() != 0 {
			wrap = append([]string{"--user", "--map-root-user"}, wrap...)
		}
		m.proc.path, m.proc.args = find("unshare"), append(append(wrap, m.proc.args...), "--datadir="+
			filepath.Join(m.disk, "data"))
		return nil
	}, args)
}

// FillDisk fills the disk of a server from [StartMariaDBOnDisk].
func (m *MariaDB) FillDisk() error {
	f, err := os.OpenFile(m.filler(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	for err == nil {
		_, err = io.Copy(f, bytes.NewReader(make([]byte, 1<<16)))
	}
	if errors.Is(err, syscall.ENOSPC) {
		err = nil
	}
	return errors.Join(err, f.Close())
}

// FreeDisk frees the space that FillDisk took.
func (m *MariaDB) FreeDisk() error { return os.Remove(m.filler()) }

// filler returns the path of a file on the server's disk, through the server's mount namespace.
func (m *MariaDB) filler() string {
	return filepath.Join(fmt.Sprintf("/proc/%d/root", m.proc.child.PID()), m.disk, "filler")
}
