package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"seckill/internal/testkit/freeport"
)

// EnvRedisAddr is the environment variable with the host:port of a running Redis that tests share. Tests use keys with
// their own prefixes and remove them.
const EnvRedisAddr = "SECKILL_TEST_REDIS_ADDR"

// Redis is one redis-server process. Its methods are not safe for concurrent use.
type Redis struct{ database }

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
	path, err := redisProgram(ctx)
	if err != nil {
		return nil, err
	}
	d, err := newDatabase(ctx, "redis", path)
	if err != nil {
		return nil, err
	}
	r, p := &Redis{d}, d.proc
	p.env = env
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
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return err
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
