package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// startGroup are the cases in which the stack starts in some odd place, or cannot start and has to say why.
func startGroup() group {
	return group{name: "start", open: openStart, trials: []trial{
		{"without .env", 0, withoutEnv},
		{"a checkout under umask 077", 0, strictUmask},
		{"no password in any log", 0, noPassword},
		{"docker run with nothing set", 0, nothingSet},
		{"the image read-only, as any uid", 0, anyUser},
		{"another .env on old volumes", 0, otherPassword},
		{"a port that is taken", 0, takenPort},
		{"no IPv6", 0, noIPv6},
	}}
}

// openStart checks the work tree out under umask 077.
func openStart(ctx context.Context, e *engine) (*stack, error) {
	dir, err := e.clone(ctx, "start", 0o077)
	if err != nil {
		return nil, err
	}
	return e.single(dir), nil
}

// fails runs a line that must fail within a time and say something.
func (s *stack) fails(ctx context.Context, line string, within time.Duration, say ...string) error {
	start := time.Now()
	out, err := s.sh(ctx, line)
	if err == nil {
		return fmt.Errorf("%s succeeds", line)
	}
	if took := time.Since(start); took > within {
		return fmt.Errorf("%s fails after %v, want %v: %s", line, took, within, end(out))
	}
	for _, words := range say {
		if !strings.Contains(out, words) {
			return fmt.Errorf("%s does not say %q: %s", line, words, end(out))
		}
	}
	return nil
}

func withoutEnv(ctx context.Context, s *stack) error {
	return s.fails(ctx, "docker compose up --detach --wait", time.Minute, "make env")
}

func strictUmask(ctx context.Context, s *stack) error {
	if err := s.env(ctx, sandbox()...); err != nil {
		return err
	}
	if info, err := os.Stat(filepath.Join(s.dir, ".env")); err != nil || info.Mode().Perm() != 0o600 {
		return fmt.Errorf(".env has the mode %v: %w", info.Mode(), err)
	}
	if _, err := s.sh(ctx, "umask 077; make up"); err != nil {
		return err
	}
	if err := s.healthy(ctx); err != nil {
		return err
	}
	return s.firstCoupon(ctx)
}

func noPassword(ctx context.Context, s *stack) error {
	logs, err := s.compose(ctx, "logs")
	if err != nil {
		return err
	}
	values, err := s.values()
	if err != nil {
		return err
	}
	for name, value := range values {
		if len(value) >= 32 && strings.Contains(logs, value) {
			return fmt.Errorf("%s is in the logs", name)
		}
	}
	if strings.Contains(logs, "ROOT PASSWORD") {
		return errors.New("root's password is in the logs")
	}
	return nil
}

func otherPassword(ctx context.Context, s *stack) error {
	const change = "docker compose down && cp .env kept && " +
		"sed -i 's/^MYSQL_PASSWORD=.*/MYSQL_PASSWORD=another-one/' .env"
	if _, err := s.sh(ctx, change); err != nil {
		return err
	}
	err := s.fails(ctx, "make up", 2*time.Minute, "MySQL refuses MYSQL_PASSWORD of .env", "down --volumes")
	if err != nil {
		return err
	}
	if _, err := s.sh(ctx, "mv kept .env && make up"); err != nil {
		return err
	}
	return s.shop.isPaid(ctx, s.order, firstBuyer)
}

func takenPort(ctx context.Context, s *stack) error {
	if _, err := s.sh(ctx, "docker compose down"); err != nil {
		return err
	}
	var listen net.ListenConfig
	taken, err := listen.Listen(ctx, "tcp", "127.0.0.1:9090")
	if err != nil {
		return err
	}
	err = s.fails(ctx, "make up", 3*time.Minute, "The port of prometheus is taken", "PROMETHEUS_PORT",
		"The service itself is up")
	if err == nil {
		_, err = s.sh(ctx, "echo PROMETHEUS_PORT=19090 >> .env && make up && curl -fsS http://127.0.0.1:19090/-/ready")
	}
	return errors.Join(err, taken.Close())
}

func noIPv6(ctx context.Context, s *stack) error {
	if _, err := s.sh(ctx, "docker compose down && sysctl -qw net.ipv6.conf.all.disable_ipv6=1"); err != nil {
		return err
	}
	_, err := s.sh(ctx, "make up")
	if err == nil {
		err = s.shop.isPaid(ctx, s.order, firstBuyer)
	}
	_, back := s.sh(ctx, "sysctl -qw net.ipv6.conf.all.disable_ipv6=0")
	return errors.Join(err, back)
}

// nothingSet starts the image with nothing set: it ends with code 2 and says in two lines what to set.
func nothingSet(ctx context.Context, s *stack) error {
	const script = `code=0; said=$(docker run --rm --network none seckill:stack 2>&1) || code=$?
echo "$said"; [ $code = 2 ] && [ "$(echo "$said" | wc -l)" = 2 ]
for name in SECKILL_REDIS_ADDRS SECKILL_MYSQL_DSN SECKILL_JWT_SECRET; do echo "$said" | grep -q $name; done
labels=$(docker inspect --format '{{json .Config.Labels}}' seckill:stack)
for label in '"title":"seckill"' '"licenses":"Apache-2.0"' '"version":"[^"]' '"revision":"' '"base.name":"scratch"'; do
	echo "$labels" | grep -q "${label/\"/\"org.opencontainers.image.}"
done`
	_, err := s.sh(ctx, script)
	return err
}

// anyUser starts the image as that message says, confined, as a user that it does not know.
func anyUser(ctx context.Context, s *stack) error {
	const script = `docker run --detach --name any --read-only --user 12345:12345 --cap-drop ALL \
	--security-opt no-new-privileges \
	--publish 127.0.0.1:18080:8080 --tmpfs /data --env SECKILL_DATA_DIR=/data --env SECKILL_EMBEDDED=auto seckill:stack
for _ in $(seq 60); do if docker exec any /server health -ready; then break; fi; sleep 1; done
curl -fsS http://127.0.0.1:18080/readyz
docker rm --force any
docker image inspect --format 'the image has {{.Size}} bytes' seckill:stack`
	out, err := s.sh(ctx, script)
	if err == nil {
		s.say("%s", out[strings.LastIndex(strings.TrimSpace(out), "\n")+1:])
	}
	return err
}
