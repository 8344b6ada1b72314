package rig

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// Child is a child process.
type Child struct {
	cmd    *exec.Cmd
	log    bytes.Buffer
	cancel context.CancelFunc
	done   chan struct{} // closed once it has ended
	killed bool          // by Kill: its exit code means nothing
}

// Server is a running server and the voucher that it sells.
type Server struct {
	*Child
	Addr    string
	Voucher int64
}

// Endpoint is where buyers of the server's voucher send their requests.
func (s *Server) Endpoint() Endpoint { return Endpoint{s.Addr, []int64{s.Voucher}} }

// spawn starts a process and waits until it is ready. It ends with ctx.
func spawn(ctx context.Context, path, addr string, env []string, args ...string) (*Child, error) {
	ctx, cancel := context.WithCancel(ctx)
	c := &Child{cancel: cancel, done: make(chan struct{})}
	c.cmd = exec.CommandContext(ctx, path, args...)
	c.cmd.Stdout, c.cmd.Stderr = &c.log, &c.log
	c.cmd.Env = environment(env)
	if err := c.cmd.Start(); err != nil {
		cancel()
		return nil, err
	}
	go func() {
		_ = c.cmd.Wait() // how it ended is read from ProcessState
		close(c.done)
	}()
	if err := c.awaitReady(ctx, addr); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

// environment is a child's: this process's without settings of the service.
func environment(env []string) []string {
	all := []string{"BENCH_SECRET=" + secret}
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "SECKILL_") {
			all = append(all, kv)
		}
	}
	return append(all, env...)
}

// runToEnd runs a process to its end.
func runToEnd(ctx context.Context, path string, env []string, args ...string) error {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = environment(env)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", path, strings.Join(args, " "), err, out)
	}
	return nil
}

func (c *Child) awaitReady(ctx context.Context, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for {
		select {
		case <-c.done:
			return fmt.Errorf("the process ended before it was ready: %s", c.cmd.ProcessState)
		case <-ctx.Done():
			return fmt.Errorf("the process is not ready: %w", ctx.Err())
		case <-time.After(10 * time.Millisecond):
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/readyz", nil)
		if err != nil {
			return err
		}
		resp, err := client.Do(req)
		if err != nil {
			continue
		}
		_ = resp.Body.Close() // nothing was read from it
		if resp.StatusCode == http.StatusOK {
			return nil
		}
	}
}

// Stop asks the process to end and waits for it, with SIGKILL after 30 s. Further calls do nothing. An exit code other
// than 0 is an error, unless the process was killed.
func (c *Child) Stop() error {
	defer c.cancel()
	select {
	case <-c.done:
	default:
		_ = c.cmd.Process.Signal(syscall.SIGTERM) // it may be ending just now
		select {
		case <-c.done:
		case <-time.After(30 * time.Second):
			c.cancel()
			<-c.done
		}
	}
	if code := c.cmd.ProcessState.ExitCode(); code != 0 && !c.killed {
		log := c.log.String()
		return fmt.Errorf("exit code %d; its log ends with:\n%s", code, log[max(0, len(log)-4000):])
	}
	return nil
}

// Kill ends the process with SIGKILL, as a crash would.
func (c *Child) Kill() {
	c.killed = true
	_ = c.cmd.Process.Kill() // it may have ended by itself
	<-c.done
}

// Log is what the process wrote. It may be read once the process has ended.
func (c *Child) Log() string { return c.log.String() }
