package box

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"seckill/internal/testkit/child"
	"seckill/internal/testkit/freeport"
)

// Server is an instance of the service: a process that can be started, ended and restarted at the same address.
type Server struct {
	Name     string
	Binary   string // the program; a test may set another version before Start
	Settings map[string]string
	Addr     string // of the public listener
	OpsAddr  string // of the operations listener
	Log      *Log

	mu      sync.Mutex
	process *child.Process
}

// NewServer returns an instance that is not started. If it still runs at the end of the test, it is killed.
func NewServer(tb testing.TB, name string, settings map[string]string) *Server {
	tb.Helper()
	s := &Server{
		Name: name, Binary: Binary(tb), Settings: settings, Addr: FreeAddr(tb),
		OpsAddr: FreeAddr(tb), Log: newLog(tb, name),
	}
	tb.Cleanup(func() { _, _ = s.end(syscall.SIGKILL) }) // it may have ended already
	return s
}

// FreeAddr returns an address for a server that a test starts.
func FreeAddr(tb testing.TB) string {
	tb.Helper()
	addr, err := freeport.TakeAddr(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	return addr
}

// environ returns this process's environment without its SECKILL_ settings, plus the server's.
func (s *Server) environ() []string {
	env := environment(s.Settings)
	return append(env, "SECKILL_HTTP_ADDR="+s.Addr, "SECKILL_OPS_ADDR="+s.OpsAddr, "SECKILL_INSTANCE="+s.Name)
}

// environment returns this process's environment with only the given SECKILL_ settings.
func environment(settings map[string]string) []string {
	env := child.Environment()
	for name, value := range settings {
		env = append(env, name+"="+value)
	}
	return env
}

// URL returns the address of a path on the public listener.
func (s *Server) URL(path string) string { return "http://" + s.Addr + path }

// OpsURL returns the address of a path on the operations listener.
func (s *Server) OpsURL(path string) string { return "http://" + s.OpsAddr + path }

// Launch starts the process and does not wait until it is ready.
func (s *Server) Launch() (*child.Process, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process != nil && s.process.Running() {
		return nil, fmt.Errorf("%s runs already", s.Name)
	}
	// Without a context that ends: the tests end the process by signals.
	cmd := exec.CommandContext(context.Background(), s.Binary, "serve")
	cmd.Env = s.environ()
	cmd.Stdout, cmd.Stderr = s.Log, s.Log
	p, err := child.Start(cmd)
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", s.Name, err)
	}
	s.process = p
	return p, nil
}

// Start starts the process and returns when it is ready to sell, or when [Patience] is over. A process ends if a store
// does not answer it in time as it starts, as on a busy machine; Start then starts it again, as deployments do.
func (s *Server) Start() error {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	for {
		before := len(s.Log.String())
		p, err := s.Launch()
		if err != nil {
			return err
		}
		err = p.Await(ctx, child.Answers(s.URL("/readyz")))
		if err == nil {
			return nil
		}
		said := strings.TrimSpace(s.Log.String()[before:])
		last := said[strings.LastIndex(said, "\n")+1:]
		silent := strings.HasPrefix(last, "server: ") &&
			strings.Contains(last, "service unavailable: context deadline exceeded")
		if !errors.Is(err, child.ErrEnded) || !silent {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
	}
}

// Kill ends the process at once, as a crash does: it loses everything in its memory.
func (s *Server) Kill() error {
	_, err := s.end(syscall.SIGKILL)
	return err
}

// KillAndStart ends the process at once and starts it again.
func (s *Server) KillAndStart() error {
	if err := s.Kill(); err != nil {
		return err
	}
	return s.Start()
}

// Terminate sends SIGTERM, as deployments do, and returns the exit code.
func (s *Server) Terminate() (int, error) { return s.end(syscall.SIGTERM) }

// PID returns the id of the process that was started last, or 0.
func (s *Server) PID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return 0
	}
	return s.process.PID()
}

// Signal sends a signal and does not wait.
func (s *Server) Signal(sig syscall.Signal) (*child.Process, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return nil, fmt.Errorf("%s was never started", s.Name)
	}
	return s.process, s.process.Signal(sig)
}

// end sends a signal, waits for the end of the process and returns its exit code (-1 when a signal ended it).
func (s *Server) end(sig syscall.Signal) (int, error) {
	p, err := s.Signal(sig)
	if err != nil {
		return 0, err
	}
	return s.ExitCode(p)
}

// ExitCode waits for the end of the process and returns its exit code.
func (s *Server) ExitCode(p *child.Process) (int, error) {
	select {
	case <-p.Done():
		return p.ExitCode(), nil
	case <-time.After(Patience):
		return 0, fmt.Errorf("%s has not ended %v after the signal", s.Name, Patience)
	}
}

// Metrics returns the metrics from the operations listener.
func (s *Server) Metrics(tb testing.TB) string {
	tb.Helper()
	req, err := http.NewRequestWithContext(tb.Context(), http.MethodGet, s.OpsURL("/metrics"), http.NoBody)
	if err != nil {
		tb.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }() // it was only read from
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		tb.Fatalf("the metrics of %s: %s, %v", s.Name, resp.Status, err)
	}
	return string(text)
}
