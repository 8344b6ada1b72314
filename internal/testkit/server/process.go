package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"seckill/internal/testkit/child"
	"seckill/internal/testkit/freeport"
)

// How long a server may take.
const (
	startTimeout = 2 * time.Minute // until it answers; a busy machine may need many seconds
	stopTimeout  = time.Minute     // from SIGTERM to SIGKILL
)

// process is a server program that can be restarted with the same arguments.
type process struct {
	path string
	args []string
	env  []string // added to this process's environment

	patience   time.Duration       // time limit of a start; 0: startTimeout
	credential *syscall.Credential // the user that it runs as; nil: this process's

	dir     *tempDir
	logPath string
	child   *child.Process // nil: not started
}

func newProcess(name, path string) (*process, error) {
	dir, err := newTempDir(name)
	if err != nil {
		return nil, err
	}
	return &process{path: path, dir: dir, logPath: filepath.Join(dir.path, name+".log")}, nil
}

// start starts the program and waits until ready returns nil. The program outlives ctx.
func (p *process) start(ctx context.Context, ready func(context.Context) error) error {
	if p.running() {
		return nil
	}
	log, err := os.OpenFile(p.logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), p.path, p.args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.Env = p.dir.path, log, log, append(os.Environ(), p.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.credential}
	p.child, err = child.Start(cmd)
	_ = log.Close() // the server has its own descriptor
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(p.patience, startTimeout))
	defer cancel()
	if err := p.child.Await(ctx, ready); err != nil {
		p.kill()
		return fmt.Errorf("%s: %w: %s", filepath.Base(p.path), err, p.logTail())
	}
	return nil
}

func (p *process) running() bool { return p.child != nil && p.child.Running() }

// signal sends a signal to the server if it runs.
func (p *process) signal(sig os.Signal) {
	if p.running() {
		_ = p.child.Signal(sig) // fails only if it has just ended
	}
}

// stop shuts the server down with SIGTERM, or with SIGKILL after stopTimeout.
func (p *process) stop() {
	if p.child != nil {
		p.child.Stop(stopTimeout)
	}
}

// kill ends the server with SIGKILL and waits until it is gone.
func (p *process) kill() {
	if p.child != nil {
		p.child.Kill()
	}
}

// close kills the server and removes its directory.
func (p *process) close() error {
	p.kill()
	return p.dir.remove()
}

// logTail returns the end of the server's log for an error message.
func (p *process) logTail() string {
	b, err := os.ReadFile(p.logPath)
	if err != nil {
		return err.Error()
	}
	return tail(b, 1500)
}

func tail(b []byte, n int) string {
	if len(b) > n {
		return "…" + string(b[len(b)-n:])
	}
	return string(b)
}

// onFreePort tries start with several free ports, as long as the server exits before it answers, because another
// program may take a port.
func onFreePort(ctx context.Context, start func(port int) error) error {
	var err error
	for range 3 {
		var port int
		if port, err = freeport.Take(ctx); err != nil {
			return err
		}
		if err = start(port); !errors.Is(err, child.ErrEnded) {
			return err
		}
	}
	return err
}
