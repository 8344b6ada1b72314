package server

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
)

// database is one process of a Redis or of a MariaDB. Its methods are not safe for concurrent use.
type database struct {
	Addr    string // host:port, the same after every Start
	Dir     string // the directory of its files
	Name    string // "Redis", "Valkey", "MariaDB" or "MySQL"
	Version string // such as "7.0.15"
	proc    *process
}

// newDatabase returns the program's process, not started yet, with a directory of its own. kind names it and its log.
func newDatabase(ctx context.Context, kind, path string) (database, error) {
	name, version, err := describe(ctx, path)
	if err != nil {
		return database{}, err
	}
	p, err := newProcess(kind, path)
	if err != nil {
		return database{}, err
	}
	return database{Dir: p.dir.path, Name: name, Version: version, proc: p}, nil
}

// Stop shuts the server down with SIGTERM, so that it saves according to its settings.
func (d *database) Stop() { d.proc.stop() }

// Kill ends the server with SIGKILL.
func (d *database) Kill() { d.proc.kill() }

// Pause stops the process with SIGSTOP: connections stay open but get no answers until Resume.
func (d *database) Pause() { d.proc.signal(syscall.SIGSTOP) }

// Resume continues a paused server.
func (d *database) Resume() { d.proc.signal(syscall.SIGCONT) }

// Close kills the server and removes its directory.
func (d *database) Close() error { return d.proc.close() }

var versionPattern = regexp.MustCompile(`\d+\.\d+\.\d+`)

// describe returns the name and the version of the server that a program is, as its option --version says them.
func describe(ctx context.Context, path string) (name, version string, err error) {
	out, err := exec.CommandContext(ctx, path, "--version").CombinedOutput()
	if err != nil {
		return "", "", fmt.Errorf("%s --version: %w: %s", path, err, tail(out, 600))
	}
	said := string(out)
	for _, name := range []string{"Redis", "Valkey", "MariaDB"} {
		if strings.Contains(said, name) {
			return name, versionPattern.FindString(said), nil
		}
	}
	return mysqlName, versionPattern.FindString(said), nil
}
