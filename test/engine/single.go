package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// Units of a sale: as many as buyers come in some ten seconds.
const units = 600

// healthyWithin is how long a stack may take until it is well again.
const healthyWithin = 5 * time.Minute

// singleGroup are the cases on one stack of docker-compose.yml that is started as a new user does.
func singleGroup() group {
	return group{name: "single", open: openSingle, trials: []trial{
		{"a rush", units, memory},
		{"prometheus and alertmanager see everything", 0, watched},
		{"plain docker compose up after a change of .env", units, changed},
		{"instances replaced by another image", units, func(ctx context.Context, s *stack) error {
			_, err := s.sh(ctx, "make replace VERSION=v9.9.9-trial")
			return err
		}},
		{"an instance killed", units, crash("server-1")},
		{"the entry killed", units, crash("nginx")},
		{"redis killed", units, crash("redis")},
		{"mysql killed", units, crash("mysql")},
		{"redis stopped for 5 s, started", units, stopStart("redis")},
		{"mysql stopped for 5 s, started", units, stopStart("mysql")},
		{"redis restarted", units, restart("redis")},
		{"mysql restarted", units, restart("mysql")},
		{"all stopped and started", units, stopAll},
		{"down, up: the data are there", units, downUp},
		{"the engine restarted", units, engineRestarts(false)},
		{"all cut off at once", units, engineRestarts(true)},
		{"down, and down -v: nothing is left", 0, removed},
	}}
}

func openSingle(ctx context.Context, e *engine) (*stack, error) {
	dir, err := e.clone(ctx, "single", 0o022)
	if err != nil {
		return nil, err
	}
	s := e.single(dir)
	if err := s.env(ctx, sandbox()...); err != nil {
		return s, err
	}
	if _, err := s.sh(ctx, "make up"); err != nil {
		err = s.why(ctx, err)
		return s, err
	}
	err = s.firstCoupon(ctx)
	return s, err
}

// firstCoupon sells one coupon, has it paid, and opens the console.
func (s *stack) firstCoupon(ctx context.Context) error {
	voucher, err := s.shop.sale(ctx, 1)
	if err != nil {
		return err
	}
	if s.order, err = s.shop.buyAndPay(ctx, voucher, firstBuyer); err != nil {
		return err
	}
	a, err := s.shop.ask(ctx, http.MethodGet, "/admin", "", nil)
	if err == nil && (a.status != http.StatusOK || !strings.Contains(string(a.body), "<html")) {
		err = fmt.Errorf("the console answers %d: %.80s", a.status, a.body)
	}
	return err
}

// watched checks what Prometheus knows: every target is up, every rule is loaded, and Alertmanager is known.
func watched(ctx context.Context, s *stack) error {
	rules, err := os.ReadFile(filepath.Join(s.dir, "deploy", "prometheus", "rules.yml"))
	if err != nil {
		return err
	}
	want := len(regexp.MustCompile(`(?m)^ +- (alert|record): `).FindAllString(string(rules), -1))
	prometheus := newShop("http://127.0.0.1:9090", "", "")
	return eventually(ctx, time.Minute, func(ctx context.Context) error {
		var targets struct {
			ActiveTargets []struct{ Health, ScrapeURL, LastError string }
		}
		if err := prometheus.data(ctx, "/api/v1/targets", &targets); err != nil {
			return err
		}
		for _, t := range targets.ActiveTargets {
			if t.Health != "up" {
				return fmt.Errorf("target %s is %s: %s", t.ScrapeURL, t.Health, t.LastError)
			}
		}
		var loaded struct {
			Groups []struct {
				Rules []struct{ Name, Health, LastError string }
			}
		}
		if err := prometheus.data(ctx, "/api/v1/rules", &loaded); err != nil {
			return err
		}
		count := 0
		for _, g := range loaded.Groups {
			for _, r := range g.Rules {
				if r.Health != "ok" {
					return fmt.Errorf("rule %s is %s: %s", r.Name, r.Health, r.LastError)
				}
				count++
			}
		}
		var managers struct{ ActiveAlertmanagers []struct{ URL string } }
		if err := prometheus.data(ctx, "/api/v1/alertmanagers", &managers); err != nil {
			return err
		}
		if len(targets.ActiveTargets) < 4 || count != want || want == 0 || len(managers.ActiveAlertmanagers) != 1 {
			return fmt.Errorf("%d targets, %d of %d rules, %d alertmanagers",
				len(targets.ActiveTargets), count, want, len(managers.ActiveAlertmanagers))
		}
		return nil
	})
}

// data reads the data of an answer of Prometheus.
func (s *shop) data(ctx context.Context, path string, data any) error {
	a, err := s.ask(ctx, http.MethodGet, path, "", nil)
	if err != nil {
		return err
	}
	if a.status != http.StatusOK {
		return fmt.Errorf("%s answers %d: %s", path, a.status, a.body)
	}
	return json.Unmarshal(a.Data, data)
}

// memory prints what each container has in use, beside its limit.
func memory(ctx context.Context, s *stack) error {
	out, err := s.docker(ctx, "stats", "--no-stream", "--format", "{{.Name}}\t{{.MemUsage}}\t{{.PIDs}} processes")
	if err == nil {
		s.say("in the rush:\n%s", strings.TrimSpace(out))
	}
	return err
}

// changed changes a setting and starts the stack by hand: with the image that is there.
func changed(ctx context.Context, s *stack) error {
	const script = `before=$(docker compose images --quiet server-2)
echo SECKILL_TIMEZONE=Asia/Shanghai >> .env
docker compose up --detach --wait
docker compose exec -T server-1 /server version
[ "$before" = "$(docker compose images --quiet server-2)" ] &&
[ "$before" = "$(docker compose images --quiet server-1)" ]
docker inspect --format '{{.Config.Env}}' $(docker compose ps --quiet server-1 server-2) |
grep -c SECKILL_TIMEZONE=Asia/Shanghai | grep -qx 2`
	_, err := s.sh(ctx, script)
	return err
}

// crash kills the processes of services, as a defect would, and waits until they are back.
func crash(services ...string) func(ctx context.Context, s *stack) error {
	return func(ctx context.Context, s *stack) error {
		for _, service := range services {
			id, err := s.container(ctx, service)
			if err != nil {
				return err
			}
			out, err := s.docker(ctx, "inspect", "--format", "{{.State.Pid}}", id)
			if err != nil {
				return err
			}
			var pid int
			if _, err := fmt.Sscan(out, &pid); err != nil || pid == 0 {
				return fmt.Errorf("%s does not run: %q, %w", service, out, err)
			}
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				return err
			}
		}
		return s.healthy(ctx)
	}
}

func stopStart(service string) func(ctx context.Context, s *stack) error {
	return func(ctx context.Context, s *stack) error {
		if _, err := s.compose(ctx, "stop", service); err != nil {
			return err
		}
		time.Sleep(5 * time.Second)
		if _, err := s.compose(ctx, "start", service); err != nil {
			return err
		}
		return s.healthy(ctx)
	}
}

func restart(service string) func(ctx context.Context, s *stack) error {
	return func(ctx context.Context, s *stack) error {
		if _, err := s.compose(ctx, "restart", service); err != nil {
			return err
		}
		return s.healthy(ctx)
	}
}

func stopAll(ctx context.Context, s *stack) error {
	if _, err := s.compose(ctx, "stop"); err != nil {
		return err
	}
	if _, err := s.compose(ctx, "start"); err != nil {
		return err
	}
	return s.healthy(ctx)
}

// downUp removes the containers and makes them anew: the first coupon is still paid.
func downUp(ctx context.Context, s *stack) error {
	if _, err := s.compose(ctx, "down"); err != nil {
		return err
	}
	if _, err := s.compose(ctx, "up", "--detach", "--wait"); err != nil {
		return err
	}
	return s.shop.isPaid(ctx, s.order, firstBuyer)
}

// engineRestarts stops the engine, or with a power cut kills everything, and starts it again: containers come back by
// themselves.
func engineRestarts(powerCut bool) func(ctx context.Context, s *stack) error {
	return func(ctx context.Context, s *stack) error {
		if err := s.stop(powerCut); err != nil {
			return err
		}
		if err := s.start(ctx); err != nil {
			return err
		}
		return s.healthy(ctx)
	}
}

// removed takes the stack down. down leaves volumes with names; with --volumes nothing is left.
func removed(ctx context.Context, s *stack) error {
	if _, err := s.compose(ctx, "down"); err != nil {
		return err
	}
	left, err := s.left(ctx)
	if err != nil {
		return err
	}
	for line := range strings.Lines(left) {
		if !strings.HasPrefix(line, "volume seckill") {
			return fmt.Errorf("down has left:\n%s", left)
		}
	}
	if _, err := s.compose(ctx, "down", "--volumes"); err != nil {
		return err
	}
	if left, err = s.left(ctx); err == nil && left != "" {
		err = fmt.Errorf("down --volumes has left:\n%s", left)
	}
	return err
}
