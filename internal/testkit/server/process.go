package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"seckill/internal/testkit/freeport"
)

// How long a server may take.
const (
	startTimeout = 2 * time.Minute // until it answers; a busy two-core machine needs seconds, or many
	stopTimeout  = time.Minute     // from SIGTERM until it is killed
	pollEvery    = 10 * time.Millisecond
)

// errExited: a server ended before it answered; its port may have been taken meanwhile.
var errExited = errors.New("exited")

// process is one server program that can be started again and again with the same arguments.
type process struct {
	path string
	args []string
	env  []string // besides this process's own

	patience   time.Duration       // how long a start may take; 0: startTimeout
	credential *syscall.Credential // of the user who runs it; nil: this process's

	dir     *tempDir
	logPath string
	cmd     *exec.Cmd
	done    chan struct{} // closed when cmd has ended
}

func newProcess(name, path string) (*process, error) {
	dir, err := newTempDir(name)
	if err != nil {
		return nil, err
	}
	done := make(chan struct{})
	close(done)
	return &process{path: path, dir: dir, logPath: filepath.Join(dir.path, name+".log"), done: done}, nil
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
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = p.dir.path, log, log, procAttr()
	cmd.Env, cmd.SysProcAttr.Credential = append(os.Environ(), p.env...), p.credential
	done, started := make(chan struct{}), make(chan error, 1)
	go func() {
		defer close(done)
		// The parent death signal watches this thread: it must live as long as the server.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		_ = log.Close() // the server has its own descriptor
		started <- err
		if err == nil {
			_ = cmd.Wait() // how it ended is in its log
		}
	}()
	if err := <-started; err != nil {
		return err
	}
	p.cmd, p.done = cmd, done
	if err := p.await(ctx, ready); err != nil {
		p.kill()
		return err
	}
	return nil
}

// await polls ready until it succeeds, the server ends, or the time is over.
func (p *process) await(ctx context.Context, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(p.patience, startTimeout))
	defer cancel()
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	for {
		err := ready(ctx)
		if err == nil && p.running() {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("%s %w: %s", filepath.Base(p.path), errExited, p.logTail())
		case <-ctx.Done():
			return fmt.Errorf("%s does not answer: %w: %w: %s", filepath.Base(p.path), ctx.Err(), err, p.logTail())
		case <-poll.C:
		}
	}
}

func (p *process) running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// signal sends a signal to the server if it runs.
func (p *process) signal(sig os.Signal) {
	if p.running() {
		_ = p.cmd.Process.Signal(sig) // fails only when it has just ended, which closes done
	}
}

// stop shuts the server down with SIGTERM, and kills it if that takes too long.
func (p *process) stop() {
	p.signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(stopTimeout):
		p.kill()
	}
}

// kill ends the server with SIGKILL and waits until it is gone.
func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	<-p.done
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

// onFreePort calls start with one free port after another while the server exits before it answers, which it does
// when the port was taken meanwhile.
func onFreePort(ctx context.Context, start func(port int) error) error {
	var err error
	for range 3 {
		var port int
		if port, err = freeport.Take(ctx); err != nil {
			return err
		}
		if err = start(port); !errors.Is(err, errExited) {
			return err
		}
	}
	return err
}
