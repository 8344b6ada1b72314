package rig

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"seckill/internal/testkit/child"
	"seckill/lab/load"
)

// Child is a child process.
type Child struct {
	*child.Process
	log    bytes.Buffer
	killed bool // by Kill, so its exit code means nothing
}

// Server is a running server and the voucher that it sells.
type Server struct {
	*Child
	Addr    string
	Voucher int64
	Terms   string // more members of the sales that it creates, in JSON: `,"perUser":2`
}

// Endpoint returns where buyers of the server's voucher send their requests.
func (s *Server) Endpoint() load.Endpoint {
	return load.Endpoint{Addr: s.Addr, Vouchers: []int64{s.Voucher}}
}

// How long a process may take to be ready, and to end after SIGTERM before it is killed.
const (
	startWithin = 2 * time.Minute
	stopWithin  = 30 * time.Second
)

// spawn starts a process and waits until it is ready. The process ends with ctx.
func spawn(ctx context.Context, path, addr string, env []string, args ...string) (*Child, error) {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = environment(env)
	return start(ctx, cmd, "http://"+addr+"/readyz")
}

// start starts a process and waits until the page ready answers.
func start(ctx context.Context, cmd *exec.Cmd, ready string) (*Child, error) {
	c := &Child{}
	cmd.Stdout, cmd.Stderr = &c.log, &c.log
	var err error
	if c.Process, err = child.Start(cmd); err != nil {
		return nil, err
	}
	starting, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	if err := c.Await(starting, child.Answers(ready)); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

// environment returns a child's environment: this process's without settings of the service, and the secret for stages.
func environment(env []string) []string {
	return append(child.Environment("BENCH_SECRET="+load.Secret), env...)
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

// Stop asks the process to end and waits for it, and kills it after 30 s. Further calls do nothing. An exit code other
// than 0 is an error, unless the process was killed.
func (c *Child) Stop() error {
	c.Process.Stop(stopWithin)
	if code := c.ExitCode(); code != 0 && !c.killed {
		log := c.log.String()
		return fmt.Errorf("exit code %d; its log ends with:\n%s", code, log[max(0, len(log)-4000):])
	}
	return nil
}

// Kill ends the process with SIGKILL, as a crash would.
func (c *Child) Kill() {
	c.killed = true
	c.Process.Kill()
}

// Log returns the process's output. It may be read once the process has ended.
func (c *Child) Log() string { return c.log.String() }
