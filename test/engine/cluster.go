package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// clusterUp is how docs/operations.md starts the cluster.
const clusterUp = "up --build --detach --wait"

// clusterGroup are the cases on deploy/cluster.
func clusterGroup() group {
	trials := []trial{
		{"a rush", units, memory},
		{"an instance killed", units, crash("server-1")},
		{"a galera node killed", units, crash("galera-2")},
		{"the master of the sale killed", units, masters("kill")},
		{"the master of the sale cut off for 20 s", units, masters("cut")},
	}
	for i := range 5 {
		trials = append(trials,
			trial{fmt.Sprintf("galera: all down and up, %d", 2*i+1), units, downUp},
			trial{fmt.Sprintf("galera: all stopped and started, %d", 2*i+2), units, stopAll})
	}
	return group{name: "cluster", open: openCluster, trials: append(trials,
		trial{"galera: the engine restarted", units, engineRestarts(false)},
		trial{"galera: all cut off at once", units, engineRestarts(true)},
		trial{"galera: a failed up of one node, then of all", units, failedUp},
		trial{"down, and down -v: nothing is left", 0, removed},
	)}
}

// openCluster starts the cluster, with a first start that is interrupted while the founder makes its database.
func openCluster(ctx context.Context, e *engine) (*stack, error) {
	dir, err := e.clone(ctx, "cluster", 0o022)
	if err != nil {
		return nil, err
	}
	s := e.cluster(dir)
	if err := s.env(ctx, sandbox()...); err != nil {
		return s, err
	}
	if _, err := s.compose(ctx, "up", "--detach", "galera-1", "galera-2", "galera-3"); err != nil {
		err = s.why(ctx, err)
		return s, err
	}
	err = eventually(ctx, 3*time.Minute, func(ctx context.Context) error {
		_, err := s.compose(ctx, "exec", "-T", "galera-1", "test", "-d", "/var/lib/mysql/mysql")
		return err
	})
	if err != nil {
		err = s.why(ctx, err)
		return s, err
	}
	if _, err := s.compose(ctx, "kill"); err != nil {
		return s, err
	}
	if _, err := s.compose(ctx, strings.Fields(clusterUp)...); err != nil {
		err = s.why(ctx, err)
		return s, err
	}
	err = s.firstCoupon(ctx)
	return s, err
}

// busiest is the service of the master whose slots hold the sales.
func (s *stack) busiest(ctx context.Context) (string, error) {
	out, err := s.compose(ctx, "exec", "-T", "redis-1", "redis-cli", "cluster", "keyslot", "'{p0}'")
	if err != nil {
		return "", err
	}
	slot, err := strconv.Atoi(strings.TrimSpace(out))
	if err != nil {
		return "", err
	}
	if out, err = s.compose(ctx, "exec", "-T", "redis-1", "redis-cli", "cluster", "nodes"); err != nil {
		return "", err
	}
	for line := range strings.Lines(out) {
		words := strings.Fields(line)
		if len(words) < 9 || !strings.Contains(words[2], "master") || strings.Contains(words[2], "fail") {
			continue
		}
		for _, slots := range words[8:] {
			var first, last int
			if _, err := fmt.Sscanf(slots, "%d-%d", &first, &last); err == nil && first <= slot && slot <= last {
				address, _, _ := strings.Cut(words[1], ":")
				return "redis-" + address[len(address)-1:], nil
			}
		}
	}
	return "", fmt.Errorf("no master has slot %d:\n%s", slot, out)
}

// masters kills the master that has the sale, or cuts it off from all others for twenty seconds.
func masters(how string) func(ctx context.Context, s *stack) error {
	return func(ctx context.Context, s *stack) error {
		master, err := s.busiest(ctx)
		if err != nil {
			return err
		}
		if how == "kill" {
			return crash(master)(ctx, s)
		}
		id, err := s.container(ctx, master)
		if err != nil {
			return err
		}
		network := "seckill-cluster_inside"
		if _, err := s.docker(ctx, "network", "disconnect", network, id); err != nil {
			return err
		}
		time.Sleep(20 * time.Second)
		address := "172.30.77.1" + strings.TrimPrefix(master, "redis-")
		_, err = s.docker(ctx, "network", "connect", "--ip", address, "--alias", master, network, id)
		return errors.Join(err, s.healthy(ctx))
	}
}

// failedUp stops all nodes, starts one alone for a while, which must not found a cluster, and then all.
func failedUp(ctx context.Context, s *stack) error {
	if _, err := s.compose(ctx, "stop"); err != nil {
		return err
	}
	if _, err := s.compose(ctx, "start", "galera-3"); err != nil {
		return err
	}
	err := eventually(ctx, time.Minute, func(ctx context.Context) error {
		log, err := s.compose(ctx, "logs", "--no-log-prefix", "--tail", "3", "galera-3")
		if err == nil && !strings.Contains(log, "galera: waits for") {
			err = fmt.Errorf("galera-3 does not wait alone: %s", log)
		}
		return err
	})
	if err != nil {
		return err
	}
	if _, err := s.compose(ctx, "start"); err != nil {
		return err
	}
	return s.healthy(ctx)
}
