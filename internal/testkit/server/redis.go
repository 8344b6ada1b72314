package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"time"

	"seckill/internal/testkit/freeport"
)

// EnvRedisAddr names the environment variable with the host:port of a running Redis that tests share. The tests use
// keys under prefixes of their own and remove them.
const EnvRedisAddr = "SECKILL_TEST_REDIS_ADDR"

// Redis is one redis-server process. Its methods are not safe for concurrent use.
type Redis struct {
	Addr    string // host:port, the same after every Start
	Dir     string // where it keeps its files
	Version string // such as "7.0.15"
	proc    *process
}

// StartRedis starts a redis-server on 127.0.0.1 with nothing kept on disk, unless args say otherwise: they are
// appended to the command line, such as "--appendonly", "yes".
func StartRedis(ctx context.Context, args ...string) (*Redis, error) {
	return startRedis(ctx, nil, args)
}

// StartRedisBy is StartRedis with a redis-server that goes by the clock.
func StartRedisBy(ctx context.Context, clock *Clock, args ...string) (*Redis, error) {
	env, err := clock.environ(ctx)
	if err != nil {
		return nil, err
	}
	return startRedis(ctx, env, args)
}

func startRedis(ctx context.Context, env, args []string) (*Redis, error) {
	path, err := RedisProgram(ctx)
	if err != nil {
		return nil, err
	}
	version, err := programVersion(ctx, path)
	if err != nil {
		return nil, err
	}
	p, err := newProcess("redis", path)
	if err != nil {
		return nil, err
	}
	p.env = env
	r := &Redis{Dir: p.dir.path, Version: version, proc: p}
	conf := filepath.Join(r.Dir, "redis.conf") // for what it rewrites itself: a Sentinel demands one
	if err := os.WriteFile(conf, nil, 0o600); err != nil {
		return nil, errors.Join(err, p.close())
	}
	err = onFreePort(ctx, func(port int) error {
		r.Addr = freeport.Addr(port)
		p.args = append([]string{
			conf, "--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--dir", r.Dir, "--daemonize", "no",
			"--save", "", "--appendonly", "no", "--logfile", "",
		}, args...)
		return r.Start(ctx)
	})
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	return r, nil
}

// Start starts the server again after Stop or Kill, with the same port and directory, and waits until it has loaded
// its data. A running server is left alone.
func (r *Redis) Start(ctx context.Context) error {
	return r.proc.start(ctx, func(ctx context.Context) error { return PingRedis(ctx, r.Addr) })
}

// Stop shuts the server down with SIGTERM: it saves what its settings demand.
func (r *Redis) Stop() { r.proc.stop() }

// Kill ends the server with SIGKILL.
func (r *Redis) Kill() { r.proc.kill() }

// Pause stops the server's process with SIGSTOP: connections stay open and nothing answers, until Resume.
func (r *Redis) Pause() { r.proc.signal(syscall.SIGSTOP) }

// Resume continues a paused server.
func (r *Redis) Resume() { r.proc.signal(syscall.SIGCONT) }

// Close kills the server and removes its directory.
func (r *Redis) Close() error { return r.proc.close() }

// PingRedis returns nil when a Redis at the address answers PING, and is not still loading its data.
func PingRedis(ctx context.Context, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // nothing is under way
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return err
		}
	}
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		return err
	}
	answer := make([]byte, 64)
	n, err := conn.Read(answer)
	if err != nil {
		return err
	}
	if got := string(answer[:n]); got != "+PONG\r\n" {
		return fmt.Errorf("redis at %s answers %q to PING", addr, got)
	}
	return nil
}

var versionPattern = regexp.MustCompile(`\d+\.\d+\.\d+`)

// programVersion returns the version that "program --version" prints.
func programVersion(ctx context.Context, path string) (string, error) {
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("%s --version: %w", path, err)
	}
	return versionPattern.FindString(string(out)), nil
}
