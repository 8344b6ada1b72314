package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Times within which the engine and its commands have to be done.
const (
	engineStarts = 2 * time.Minute
	engineStops  = 3 * time.Minute
)

// cgroup is the group of all containers, which is removed at the end.
const cgroup = "seckill-test-engine"

// engine is a Docker engine of this program's own: its data are in the user's cache, where only images stay.
type engine struct {
	data string // images, and what runs
	run  string // files of this run
	out  io.Writer

	packed string // the build context of the service's image, where the Dockerfile's takes too long

	daemon *exec.Cmd
	ended  chan error
}

func (e *engine) say(format string, args ...any) { fmt.Fprintf(e.out, format+"\n", args...) }

func (e *engine) socket() string { return filepath.Join(e.run, "docker.sock") }

// env is the environment of programs that talk to the engine.
func (e *engine) env() []string {
	return append(os.Environ(), "DOCKER_HOST=unix://"+e.socket(), "DOCKER_CONFIG="+filepath.Join(e.run, "config"),
		"DOCKER_BUILDKIT=1", "BUILDX_NO_DEFAULT_ATTESTATIONS=1", "BUILDKIT_PROGRESS=plain", "COMPOSE_PROGRESS=plain",
		"DOCKER_CLI_HINTS=false", "MAKEFLAGS=", "MAKELEVEL=", "MAKEFILES=")
}

// command is a program that talks to the engine.
func (e *engine) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = e.env()
	return cmd
}

// docker runs a command of Docker and returns what it prints.
func (e *engine) docker(ctx context.Context, args ...string) (string, error) {
	out, err := e.command(ctx, "docker", args...).CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("docker %s: %w: %s", strings.Join(args, " "), err, end(string(out)))
	}
	return string(out), nil
}

// start starts the engine and waits until it answers.
func (e *engine) start(ctx context.Context) error {
	log, err := os.OpenFile(filepath.Join(e.run, "dockerd.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the engine has its own
	e.daemon = exec.Command("dockerd", //nolint:noctx // stop ends it
		"--data-root", e.data, "--exec-root", filepath.Join(e.run, "exec"),
		"--pidfile", filepath.Join(e.run, "dockerd.pid"), "--host", "unix://"+e.socket(), "--cgroup-parent", cgroup)
	e.daemon.Stdout, e.daemon.Stderr = log, log
	// A machine without IPv6 and without kernel modules lacks tables that the engine asks for and can do without.
	if err := e.daemon.Start(); err != nil {
		return fmt.Errorf("dockerd: %w", err)
	}
	e.ended = make(chan error, 1)
	go func(d *exec.Cmd, ended chan<- error) { ended <- d.Wait() }(e.daemon, e.ended)
	deadline := time.After(engineStarts)
	for {
		if _, err := e.docker(ctx, "version", "--format", "{{.Server.Version}}"); err == nil {
			return nil
		}
		select {
		case err := <-e.ended:
			return fmt.Errorf("dockerd ended: %w\n%s", err, e.log())
		case <-deadline:
			return fmt.Errorf("dockerd does not answer after %v\n%s", engineStarts, e.log())
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// log is the end of what the engine has logged.
func (e *engine) log() string {
	text, err := os.ReadFile(filepath.Join(e.run, "dockerd.log"))
	if err != nil {
		return err.Error()
	}
	return end(string(text))
}

// stop ends the engine as a machine that shuts down does: it stops all containers. With kill, as a power cut does.
func (e *engine) stop(kill bool) error {
	if e.daemon == nil {
		return nil
	}
	if kill {
		return errors.Join(e.powerCut(), e.gone())
	}
	if err := e.daemon.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return e.gone()
}

// gone waits until the engine has ended.
func (e *engine) gone() error {
	select {
	case err := <-e.ended:
		_ = err // how a process ends that was told to says nothing
		e.daemon = nil
		return nil
	case <-time.After(engineStops):
		return errors.Join(fmt.Errorf("dockerd does not end within %v\n%s", engineStops, e.log()),
			e.daemon.Process.Kill())
	}
}

// powerCut kills every process of the engine and of its containers: all processes in this program's PID namespace
// except the first, this one and its parent.
func (e *engine) powerCut() error {
	me, parent := os.Getpid(), os.Getppid()
	entries, err := filepath.Glob("/proc/[0-9]*/comm")
	if err != nil {
		return err
	}
	for range 3 { // what was just started
		for _, entry := range entries {
			var pid int
			if _, err := fmt.Sscanf(entry, "/proc/%d/comm", &pid); err != nil {
				return err
			}
			if pid == 1 || pid == me || pid == parent {
				continue
			}
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
		}
		if entries, err = filepath.Glob("/proc/[0-9]*/comm"); err != nil {
			return err
		}
	}
	return nil
}

// sweep removes all containers, networks and volumes: those of this run, or of one that was killed.
func (e *engine) sweep(ctx context.Context) error {
	const script = `docker ps --all --quiet | xargs -r docker rm --force --volumes >/dev/null
docker volume ls --quiet | xargs -r docker volume rm --force >/dev/null
docker network prune --force >/dev/null
docker image prune --force >/dev/null
docker builder prune --force --keep-storage 4GB >/dev/null`
	if out, err := e.command(ctx, "bash", "-euo", "pipefail", "-c", script).CombinedOutput(); err != nil {
		return fmt.Errorf("sweep: %w: %s", err, end(string(out)))
	}
	return nil
}

// left lists what a stack has left: containers, volumes and networks.
func (e *engine) left(ctx context.Context) (string, error) {
	const script = `docker ps --all --format 'container {{.Names}}'; docker volume ls --format 'volume {{.Name}}'
docker network ls --filter type=custom --format 'network {{.Name}}'`
	out, err := e.command(ctx, "bash", "-euo", "pipefail", "-c", script).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// end is the end of a long text.
func end(text string) string {
	const most = 3000
	text = strings.TrimSpace(text)
	if len(text) > most {
		text = "…" + text[len(text)-most:]
	}
	return text
}
