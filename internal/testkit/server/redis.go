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
	"strings"
	"syscall"
	"time"

	"seckill/internal/testkit/freeport"
)

// EnvRedisAddr is the environment variable with the host:port of a running Redis that tests share. Tests use keys with
// their own prefixes and remove them.
const EnvRedisAddr = "SECKILL_TEST_REDIS_ADDR"

// Redis is one redis-server process. Its methods are not safe for concurrent use.
type Redis struct {
	Addr    string // host:port, the same after every Start
	Dir     string // the directory of its files
	Name    string // "Redis" or "Valkey"
	Version string // such as "7.0.15"
	proc    *process
}

// StartRedis starts a redis-server, or the program that [EnvRedisProgram] names, on 127.0.0.1. args are appended to its
// command line; unless they say otherwise, as "--appendonly", "yes" does, it keeps nothing on disk.
func StartRedis(ctx context.Context, args ...string) (*Redis, error) {
	return startRedis(ctx, nil, args)
}

// StartRedisBy is StartRedis for a redis-server that uses the clock.
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
	name, version, err := describe(ctx, path)
	if err != nil {
		return nil, err
	}
	p, err := newProcess("redis", path)
	if err != nil {
		return nil, err
	}
	p.env = env
	r := &Redis{Dir: p.dir.path, Name: name, Version: version, proc: p}
	conf := filepath.Join(r.Dir, "redis.conf") // a Sentinel needs a file that it can rewrite
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

// Stop shuts the server down with SIGTERM, so that it saves according to its settings.
func (r *Redis) Stop() { r.proc.stop() }

// Kill ends the server with SIGKILL.
func (r *Redis) Kill() { r.proc.kill() }

// Pause stops the process with SIGSTOP: connections stay open but get no answers until Resume.
func (r *Redis) Pause() { r.proc.signal(syscall.SIGSTOP) }

// Resume continues a paused server.
func (r *Redis) Resume() { r.proc.signal(syscall.SIGCONT) }

// Close kills the server and removes its directory.
func (r *Redis) Close() error { return r.proc.close() }

// PingRedis returns nil if a Redis at the address answers PING and has finished loading its data.
func PingRedis(ctx context.Context, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // no call is under way
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
