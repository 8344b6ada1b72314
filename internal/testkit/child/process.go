package child

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// ErrEnded means that a program ended before it was ready.
var ErrEnded = errors.New("ended")

// pollEvery is the time between two checks of whether a program is ready.
const pollEvery = 10 * time.Millisecond

// Process is one run of a program.
type Process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when the process has ended
}

// Start starts a command in its own process group.
func Start(cmd *exec.Cmd) (*Process, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	bind(cmd.SysProcAttr)
	p := &Process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		defer close(p.done)
		// The parent death signal is bound to this thread, so the thread must live as long as the program.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // how it ended is in its log and its exit code
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// Done returns a channel that is closed once the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Running reports whether the process is still running.
func (p *Process) Running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// PID returns the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Signal sends a signal and does not wait.
func (p *Process) Signal(sig os.Signal) error { return p.cmd.Process.Signal(sig) }

// ExitCode returns the exit code of a process that has ended, or -1 if a signal ended it.
func (p *Process) ExitCode() int {
	<-p.done
	return p.cmd.ProcessState.ExitCode()
}

// Stop asks the process to end and waits; after patience it uses SIGKILL.
func (p *Process) Stop(patience time.Duration) {
	_ = p.Signal(syscall.SIGTERM) // fails when it has ended
	select {
	case <-p.done:
	case <-time.After(patience):
		p.Kill()
	}
}

// Kill ends the process with SIGKILL, as a crash would, and waits until it is gone.
func (p *Process) Kill() {
	_ = p.Signal(syscall.SIGKILL) // fails when it has ended
	<-p.done
}

// Await polls ready until it returns nil. If the process ends first, it returns [ErrEnded]; if ctx ends first, the last
// error of ready.
func (p *Process) Await(ctx context.Context, ready func(context.Context) error) error {
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	for {
		err := ready(ctx)
		if err == nil && p.Running() {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("the process %w before it was ready: %s", ErrEnded, p.cmd.ProcessState)
		case <-ctx.Done():
			return fmt.Errorf("the process is not ready:  %w: %w", ctx.Err(), err)
		case <-poll.C:
		}
	}
}

// Answers returns a check for [Process.Await] that succeeds when the address answers 200.
func Answers(url string) func(context.Context) error {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	return func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			return err
		}
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		_ = resp.Body.Close() // nothing was read
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("%s answers %s", url, resp.Status)
		}
		return nil
	}
}
