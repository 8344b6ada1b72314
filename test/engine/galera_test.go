package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// galeraNodes are the nodes of a cluster whose servers are stand-ins.
const galeraNodes = "galera-1,galera-2,galera-3"

// state is a node's grastate.dat.
func state(id string, last int) string {
	return fmt.Sprintf("# GALERA saved state\nuuid:    %s\nseqno:   %d\nsafe_to_bootstrap: 0\n", id, last)
}

const (
	cluster  = "6b1f4c1e-0000-11ee-8000-000000000001"
	another  = "6b1f4c1e-0000-11ee-8000-000000000002"
	nobody   = "00000000-0000-0000-0000-000000000000"
	founds   = " --wsrep-new-cluster"
	decision = 30 * time.Second
)

// TestGaleraDecides starts the three nodes' scripts at once, with what a stop has left, and checks that exactly the one
// with most founds the cluster.
func TestGaleraDecides(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		states   [3]string // "": no data
		recovers [3]string // what InnoDB has after a crash
		away     bool      // the third node does not start
		founder  int       // 0: nobody
	}{
		"at first": {founder: 1},
		"after a stop of all at once": {
			states: [3]string{state(cluster, 7), state(cluster, 9), state(cluster, 8)}, founder: 2,
		},
		"the same everywhere": {
			states: [3]string{state(cluster, 9), state(cluster, 9), state(cluster, 9)}, founder: 1,
		},
		"with numbers of several lengths": {
			states: [3]string{state(cluster, 99), state(cluster, 100), state(cluster, 9)}, founder: 2,
		},
		"after a power cut": {
			states:   [3]string{state(cluster, -1), state(cluster, -1), state(cluster, -1)},
			recovers: [3]string{cluster + ":7", cluster + ":7", cluster + ":12"}, founder: 3,
		},
		"stopped and crashed": {
			states:   [3]string{state(cluster, 5), state(cluster, -1), state(cluster, 6)},
			recovers: [3]string{"", cluster + ":9", ""}, founder: 2,
		},
		"the founder has lost its disk":    {states: [3]string{"", state(cluster, 7), state(cluster, 8)}, founder: 3},
		"a joiner that never received any": {states: [3]string{state(cluster, 7), state(nobody, -1), ""}, founder: 1},
		"a node is away": {
			states: [3]string{state(cluster, 7), state(cluster, 9), state(cluster, 8)}, away: true,
		},
		"data of two clusters": {states: [3]string{state(cluster, 7), state(another, 9), state(cluster, 8)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), decision)
			defer cancel()
			positions := t.TempDir()
			type decided struct {
				node int
				args string
			}
			said := make(chan decided, 3)
			for i := range c.states {
				if c.away && i == 2 {
					continue
				}
				go func() {
					said <- decided{i + 1, runGalera(ctx, t, positions, i+1, c.states[i], c.recovers[i])}
				}()
			}
			wait := decision
			if c.founder == 0 {
				wait = 3 * time.Second
			}
			select {
			case d := <-said: // the others wait for its port
				if d.node != c.founder || !strings.HasSuffix(d.args, founds) {
					t.Errorf("galera-%d starts with %q; galera-%d founds", d.node, d.args, c.founder)
				}
			case <-time.After(wait):
				if c.founder != 0 {
					t.Errorf("nobody founds the cluster within %v", wait)
				}
			}
			cancel()
		})
	}
}

// TestGaleraJoins checks that a node whose data are the newest joins where another node runs.
func TestGaleraJoins(t *testing.T) {
	t.Parallel()
	var listen net.ListenConfig
	l, err := listen.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cmd := galeraCommand(t.Context(), t, dir, 1, state(cluster, 99), "")
	cmd.Env = append(cmd.Env, "GALERA_PORT="+port)
	cmd.Args = append(cmd.Args[:2], "--wsrep-node-name=galera-1", "--wsrep-cluster-address=gcomm://galera-1,127.0.0.1")
	out, err := cmd.Output()
	if err != nil || !strings.Contains(string(out), "mariadbd ") || strings.Contains(string(out), founds) {
		t.Errorf("it does not join: %q, %v", out, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "galera-1")); err == nil {
		t.Error("a position is left of a node that runs")
	}
}

// runGalera runs the script of a node and returns with what it starts the server.
func runGalera(ctx context.Context, t *testing.T, positions string, node int, state, recovers string) string {
	out, err := galeraCommand(ctx, t, positions, node, state, recovers).Output()
	if err != nil && ctx.Err() == nil {
		t.Errorf("galera-%d: %v", node, err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1]
}

func galeraCommand(ctx context.Context, t *testing.T, positions string, node int, state, recovers string) *exec.Cmd {
	data, bin := t.TempDir(), t.TempDir()
	files := map[string]string{
		filepath.Join(bin, "docker-entrypoint.sh"): "#!/bin/sh\necho \"$@\"\n",
		filepath.Join(bin, "mariadbd"): "#!/bin/sh\nfor a in \"$@\"; do case $a in --log-error=*) " +
			"echo \"WSREP: Recovered position: " + recovers + "\" > \"${a#*=}\";; esac; done\n",
	}
	if state != "" {
		files[filepath.Join(data, "grastate.dat")] = state
		if err := os.Mkdir(filepath.Join(data, "mysql"), 0o700); err != nil {
			t.Error(err)
		}
	}
	for path, text := range files {
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Error(err)
		}
	}
	cmd := exec.CommandContext(ctx, "sh", "../../deploy/cluster/galera.sh",
		fmt.Sprintf("--wsrep-node-name=galera-%d", node), "--wsrep-cluster-address=gcomm://"+galeraNodes)
	cmd.Env = []string{
		"PATH=" + bin + ":" + os.Getenv("PATH"), "GALERA_DATA=" + data, "GALERA_POSITIONS=" + positions,
		fmt.Sprintf("FOUNDER=%s", map[bool]string{true: "yes", false: "no"}[node == 1]),
		"GALERA_PORT=1", "TMPDIR=" + bin,
	}
	cmd.WaitDelay = time.Second
	return cmd
}
