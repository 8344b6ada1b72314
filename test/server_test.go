package test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// server is one instance of the service: a process that can be started, ended and started again at the same address.
type server struct {
	name     string
	binary   string
	settings map[string]string
	addr     string // of the public listener
	opsAddr  string // of the operations listener
	log      *logbook

	mu   sync.Mutex
	life *life
}

// life is one run of the process.
type life struct {
	cmd  *exec.Cmd
	done chan struct{} // closed once the process has ended
}

// newServer describes an instance without starting it. Whatever still runs when the test ends is killed.
func newServer(tb testing.TB, name string, settings map[string]string) *server {
	tb.Helper()
	s := &server{name: name, binary: binary(tb), settings: settings, log: newLogbook(tb, name)}
	s.chooseAddresses(tb.Context())
	tb.Cleanup(func() { _, _ = s.end(syscall.SIGKILL) }) // it may have ended long ago
	return s
}

// chooseAddresses picks two free ports below the range from which the kernel gives ports to clients, so that a server
// that is down does not find its port taken when it comes back.
func (s *server) chooseAddresses(ctx context.Context) {
	free := func() string {
		for {
			addr := fmt.Sprintf("127.0.0.1:%d", 15_000+rand.IntN(16_000))
			l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
			if err != nil {
				continue
			}
			_ = l.Close() // it was only asked whether it could be had
			return addr
		}
	}
	s.addr, s.opsAddr = free(), free()
	for s.opsAddr == s.addr {
		s.opsAddr = free()
	}
}

// environ returns the process's environment: of this process's own, only what programs need, and no SECKILL_ setting.
func (s *server) environ() []string {
	env := environment(s.settings)
	return append(env, "SECKILL_HTTP_ADDR="+s.addr, "SECKILL_OPS_ADDR="+s.opsAddr, "SECKILL_INSTANCE="+s.name)
}

// environment returns the bare environment with the given settings.
func environment(settings map[string]string) []string {
	var env []string
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "SECKILL_") {
			env = append(env, kv)
		}
	}
	for name, value := range settings {
		env = append(env, name+"="+value)
	}
	return env
}

// url returns the address of a path on the public listener.
func (s *server) url(path string) string { return "http://" + s.addr + path }

// launch starts the process without waiting until it is ready.
func (s *server) launch() (*life, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life != nil {
		select {
		case <-s.life.done:
		default:
			return nil, fmt.Errorf("%s runs already", s.name)
		}
	}
	// The process outlives every context of the test; it is ended by signals, which are what the tests are about.
	cmd := exec.CommandContext(context.Background(), s.binary, "serve")
	cmd.Env = s.environ()
	cmd.Stdout, cmd.Stderr = s.log, s.log
	cmd.SysProcAttr = procAttr()
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", s.name, err)
	}
	l := &life{cmd: cmd, done: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // how it ended is read from ProcessState
		close(l.done)
	}()
	s.life = l
	return l, nil
}

// start starts the process and returns once it is ready to sell.
func (s *server) start() error {
	for attempt := 1; ; attempt++ {
		l, err := s.launch()
		if err != nil {
			return err
		}
		if err = s.awaitReady(l); err == nil {
			return nil
		}
		if attempt == 3 || !strings.Contains(s.log.String(), "address already in use") {
			return err
		}
		s.chooseAddresses(context.Background())
	}
}

// awaitReady asks /readyz until it answers 200, the process ends, or patience does.
func (s *server) awaitReady(l *life) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	last := errors.New("never answered")
	for {
		select {
		case <-l.done:
			return fmt.Errorf("%s ended before it was ready: %s", s.name, l.cmd.ProcessState)
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w", s.name, last)
		case <-time.After(20 * time.Millisecond):
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url("/readyz"), nil)
		if err != nil {
			return err
		}
		resp, err := client.Do(req)
		if err != nil {
			last = err
			continue
		}
		_ = resp.Body.Close() // nothing was read from it
		if resp.StatusCode == http.StatusOK {
			return nil
		}
		last = fmt.Errorf("/readyz answers %s", resp.Status)
	}
}

// kill ends the process at once, as a crash does: nothing that it holds in memory survives.
func (s *server) kill() error {
	_, err := s.end(syscall.SIGKILL)
	return err
}

// terminate asks the process to end, as deployments do, and returns its exit code.
func (s *server) terminate() (int, error) { return s.end(syscall.SIGTERM) }

// signal sends a signal without waiting for what it does.
func (s *server) signal(sig syscall.Signal) (*life, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life == nil {
		return nil, fmt.Errorf("%s was never started", s.name)
	}
	return s.life, s.life.cmd.Process.Signal(sig)
}

// end sends a signal, waits for the end of the process and returns its exit code (-1 when a signal ended it).
func (s *server) end(sig syscall.Signal) (int, error) {
	l, err := s.signal(sig)
	if err != nil {
		return 0, err
	}
	return s.exitCode(l)
}

// exitCode waits for the end of one life and returns its exit code.
func (s *server) exitCode(l *life) (int, error) {
	select {
	case <-l.done:
		return l.cmd.ProcessState.ExitCode(), nil
	case <-time.After(patience):
		return 0, fmt.Errorf("%s has not ended %v after the signal", s.name, patience)
	}
}
