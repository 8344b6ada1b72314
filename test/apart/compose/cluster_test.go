package compose

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/types"
	"github.com/go-sql-driver/mysql"

	"seckill/internal/config"
	"seckill/internal/testkit/server"
)

// named returns the services of the cluster's stack whose names have the prefix, by name.
func named(t *testing.T, prefix string) map[string]types.ServiceConfig {
	t.Helper()
	all := map[string]types.ServiceConfig{}
	for name, s := range projectOf(t, clusterStack).Services {
		if regexp.MustCompile(`^` + prefix + `-\d$`).MatchString(name) {
			all[name] = s
		}
	}
	return all
}

func TestClusterHasThreeOfEach(t *testing.T) {
	t.Parallel()
	for prefix, want := range map[string]int{"server": 3, "redis": 9, "galera": 3} {
		if got := named(t, prefix); len(got) != want {
			t.Errorf("%s: %v, want %d", prefix, slices.Sorted(maps.Keys(got)), want)
		}
	}
}

func TestClusterSecretsHaveNoDefault(t *testing.T) {
	t.Parallel()
	for _, secret := range secrets {
		if secret == "GRAFANA_PASSWORD" {
			continue
		}
		env := filled()
		delete(env, secret)
		if _, err := load(t, clusterStack, env); err == nil || !strings.Contains(err.Error(), secret) {
			t.Errorf("without %s: got error %v, want one that names it", secret, err)
		}
	}
}

// opsAddr is the operations listener in every deployment, with the default port.
const opsAddr = ":8081"

// Each instance has valid settings, knows nodes of the Redis Cluster, and uses its own Galera node.
func TestClusterServersUseTheStack(t *testing.T) {
	t.Parallel()
	nodes, galera := named(t, "redis"), named(t, "galera")
	taken := map[string]string{}
	for name, s := range named(t, "server") {
		var environ []string
		for variable, value := range variables(s) {
			environ = append(environ, variable+"="+value)
		}
		cfg, err := config.Load(environ)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if cfg.Embedded() || cfg.Redis.Mode != "cluster" || variables(s)["SECKILL_INSTANCE"] != name {
			t.Errorf("%s: embedded %t, Redis %s, instance %q",
				name, cfg.Embedded(), cfg.Redis.Mode, variables(s)["SECKILL_INSTANCE"])
		}
		if cfg.HTTP.OpsAddr != opsAddr {
			t.Errorf("%s: operations at %s, want %s as everywhere", name, cfg.HTTP.OpsAddr, opsAddr)
		}
		for _, addr := range cfg.Redis.Addrs {
			if _, found := nodes[strings.TrimSuffix(addr, ":6379")]; !found {
				t.Errorf("%s: no node of the Redis Cluster is at %s", name, addr)
			}
		}
		dsn, err := mysql.ParseDSN(variables(s)["SECKILL_MYSQL_DSN"])
		if err != nil {
			t.Fatal(err)
		}
		node := strings.TrimSuffix(dsn.Addr, ":3306")
		if _, found := galera[node]; !found || taken[node] != "" {
			t.Errorf("%s: its Galera node is %s, which is %q's already", name, node, taken[node])
		}
		taken[node] = name
	}
}

// Every node has the shared configuration, its own volume, and a memory limit above its configured caches.
func TestClusterNodesAreConfigured(t *testing.T) {
	t.Parallel()
	limit := regexp.MustCompile(`(?m)^maxmemory (\d+)mb$`).FindStringSubmatch(text(t, "deploy/cluster/redis.conf"))
	if limit == nil {
		t.Fatal("redis.conf has no maxmemory")
	}
	megabytes, err := strconv.ParseInt(limit[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	addresses := map[string]bool{}
	for name, s := range named(t, "redis") {
		if int64(s.MemLimit) < 2*megabytes<<20 {
			t.Errorf("%s: maxmemory %d MB, mem_limit %d", name, megabytes, s.MemLimit)
		}
		if flag(s.Command, "--requirepass") == "" ||
			flag(s.Command, "--requirepass") != flag(s.Command, "--masterauth") {
			t.Errorf("%s: replicas cannot log in: %v", name, s.Command)
		}
		if !slices.ContainsFunc(s.Volumes, volumeAt("/data")) || !slices.ContainsFunc(s.Volumes,
			fileAt("/etc/seckill/redis.conf")) {
			t.Errorf("%s: its volumes are %v", name, s.Volumes)
		}
		addresses[s.Networks["inside"].Ipv4Address] = true
	}
	if delete(addresses, ""); len(addresses) != 9 {
		t.Errorf("addresses that last: %v, want one for each node", addresses)
	}
	for name, s := range named(t, "galera") {
		if !slices.ContainsFunc(s.Volumes, volumeAt("/var/lib/mysql")) || !slices.ContainsFunc(s.Volumes,
			fileAt("/etc/mysql/conf.d/galera.cnf")) {
			t.Errorf("%s: its volumes are %v", name, s.Volumes)
		}
		if variables(s)["FOUNDER"] != map[bool]string{true: "yes", false: "no"}[name == "galera-1"] {
			t.Errorf("%s: FOUNDER is %q", name, variables(s)["FOUNDER"])
		}
	}
}

// fileAt matches a file that is mounted at target.
func fileAt(target string) func(types.ServiceVolumeConfig) bool {
	return func(v types.ServiceVolumeConfig) bool { return v.Type == types.VolumeTypeBind && v.Target == target }
}

// The entry of each stack knows exactly that stack's instances.
func TestEntryKnowsTheInstances(t *testing.T) {
	t.Parallel()
	for stack, conf := range map[string]string{
		smallStack: "deploy/nginx/instances.conf", clusterStack: "deploy/cluster/instances.conf",
	} {
		var instances []string
		for name := range projectOf(t, stack).Services {
			if strings.HasPrefix(name, "server-") {
				instances = append(instances, name)
			}
		}
		slices.Sort(instances)
		if got := found(`(?m)^server (server-\d):8080 `, text(t, conf)); !slices.Equal(got, instances) {
			t.Errorf("%s names %v, want %v", conf, got, instances)
		}
	}
}

// TestGaleraNodeStarts checks that a node founds a cluster only if it may, and otherwise joins one.
func TestGaleraNodeStarts(t *testing.T) {
	t.Parallel()
	const founds = "mariadbd --wsrep-node-name=x --wsrep-new-cluster\n"
	const joins = "mariadbd --wsrep-node-name=x\n"
	for name, c := range map[string]struct {
		founder, state, want string
		data                 bool // it has data
	}{
		"the founder, at first":             {"yes", "", founds, false},
		"another node, at first":            {"no", "", joins, false},
		"the founder, again":                {"yes", "safe_to_bootstrap: 0\n", joins, true},
		"the founder, without its state":    {"yes", "", joins, true},
		"another node that left last":       {"no", "seqno: 7\nsafe_to_bootstrap: 1\n", founds, true},
		"the founder that left before":      {"yes", "seqno: 7\nsafe_to_bootstrap: 0\n", joins, true},
		"a node whose state is not whole":   {"no", "", joins, true},
		"a node with words that look alike": {"no", "# safe_to_bootstrap: 1\n", joins, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data, bin := t.TempDir(), t.TempDir()
			if c.data {
				if err := os.Mkdir(filepath.Join(data, "mysql"), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			if c.state != "" {
				write(t, filepath.Join(data, "grastate.dat"), c.state, 0o600)
			}
			write(t, filepath.Join(bin, "docker-entrypoint.sh"), "#!/bin/sh\necho \"$@\"\n", 0o700)
			cmd := exec.CommandContext(t.Context(), "sh", root+"/deploy/cluster/galera.sh", "--wsrep-node-name=x")
			cmd.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "GALERA_DATA=" + data, "FOUNDER=" + c.founder}
			if out, err := cmd.CombinedOutput(); err != nil || string(out) != c.want {
				t.Errorf("%q, %v; want %q", out, err, c.want)
			}
		})
	}
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// TestRedisClusterIsMade checks that the script builds a cluster of nine nodes that are new, or left by a killed run,
// and does nothing the next time.
func TestRedisClusterIsMade(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before  func(t *testing.T, nodes redisNodes)
		creates bool
	}{
		"of new nodes":       {func(*testing.T, redisNodes) {}, true},
		"killed among slots": {func(t *testing.T, n redisNodes) { t.Helper(); n.giveSlots(t, 2) }, true},
		"killed before MEET": {func(t *testing.T, n redisNodes) { t.Helper(); n.giveSlots(t, 3) }, true},
		"killed among MEETs": {
			func(t *testing.T, n redisNodes) { t.Helper(); n.giveSlots(t, 3); n.meet(t, 2) }, false,
		},
		"killed before copies": {
			func(t *testing.T, n redisNodes) { t.Helper(); n.giveSlots(t, 3); n.meet(t, 9) }, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			nodes := startNodes(t)
			c.before(t, nodes)
			for run, creates := range []bool{c.creates, false} {
				out, err := nodes.runScript(t)
				if err != nil || strings.Contains(out, "All 16384 slots covered") != creates {
					t.Fatalf("run %d: %v\n%s", run+1, err, out)
				}
			}
			nodes.checkWhole(t)
		})
	}
}

// TestRedisClusterLosesNoKeys checks that unconnected nodes are not reset while one of them holds keys.
func TestRedisClusterLosesNoKeys(t *testing.T) {
	t.Parallel()
	nodes := startNodes(t)
	nodes.giveSlots(t, 3)
	nodes.do(t, 0, "cluster", "addslotsrange", "5461", "16383") // writes need all slots assigned
	for deadline := time.Now().Add(2 * time.Minute); !strings.HasPrefix(nodes.do(t, 0, "set", "key", "1"),
		"OK"); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the node takes no key")
		}
	}
	if out, err := nodes.runScript(t); err == nil || !strings.Contains(out,
		nodes[0]+" knows no other node and holds keys") {
		t.Errorf("%v\n%s", err, out)
	}
	if got := nodes.do(t, 0, "dbsize"); got != "1\n" {
		t.Errorf("there are %s keys, want 1", got)
	}
}

// redisNodes are the addresses of nine Redis processes with the stack's configuration.
type redisNodes []string

func startNodes(t *testing.T) (nodes redisNodes) {
	t.Helper()
	conf, err := filepath.Abs(root + "/deploy/cluster/redis.conf")
	if err != nil {
		t.Fatal(err)
	}
	for range 9 {
		node := startNode(t, conf)
		redisCLI(t, node, "config", "set", "masterauth", "secret")
		redisCLI(t, node, "config", "set", "requirepass", "secret")
		nodes = append(nodes, node)
	}
	return nodes
}

func (n redisNodes) do(t *testing.T, i int, args ...string) string {
	t.Helper()
	return redisCLI(t, n[i], append([]string{"-a", "secret"}, args...)...)
}

// giveSlots assigns slots to the first nodes as redis-cli does before it introduces nodes to each other.
func (n redisNodes) giveSlots(t *testing.T, count int) {
	t.Helper()
	for i, slots := range [][]string{{"0", "5460"}, {"5461", "10922"}, {"10923", "16383"}}[:count] {
		n.do(t, i, "cluster", "addslotsrange", slots[0], slots[1])
		n.do(t, i, "cluster", "set-config-epoch", strconv.Itoa(i+1))
	}
}

// meet introduces the first nodes to each other, and waits until they have met.
func (n redisNodes) meet(t *testing.T, count int) {
	t.Helper()
	for i := range n[:count-1] {
		host, port, _ := strings.Cut(n[i+1], ":")
		n.do(t, 0, "cluster", "meet", host, port)
	}
	for deadline := time.Now().Add(2 * time.Minute); strings.Count(n.do(t, 0, "cluster", "nodes"),
		" connected") != count ||
		strings.Contains(n.do(t, 0, "cluster", "nodes"), "handshake"); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the nodes do not meet")
		}
	}
}

// runScript returns what the script prints.
func (n redisNodes) runScript(t *testing.T) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", append([]string{root + "/deploy/cluster/redis-cluster.sh"}, n...)...)
	cmd.Env = append(os.Environ(), "REDISCLI_AUTH=secret")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// Also kills the redis-cli that the script waits for.
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// checkWhole checks that there are three masters with two replicas each.
func (n redisNodes) checkWhole(t *testing.T) {
	t.Helper()
	nodes := n.do(t, 0, "cluster", "nodes")
	replicas := map[string]int{}
	for _, id := range found(`(?m) (?:myself,)?slave (\w+) `, nodes) {
		replicas[id]++
	}
	uneven := slices.ContainsFunc(slices.Collect(maps.Values(replicas)), func(n int) bool { return n != 2 })
	if strings.Count(nodes, "master -") != 3 || len(replicas) != 3 || uneven {
		t.Errorf("the cluster is\n%s", nodes)
	}
}

// startNode starts a Redis with the configuration and returns its address.
func startNode(t *testing.T, conf string) string {
	t.Helper()
	node, err := server.StartRedis(t.Context(), "--include", conf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := node.Close(); err != nil {
			t.Error(err)
		}
	})
	return node.Addr
}

// redisCLI returns what a node answers.
func redisCLI(t *testing.T, node string, args ...string) string {
	t.Helper()
	host, port, _ := strings.Cut(node, ":")
	out, err := exec.CommandContext(t.Context(), "redis-cli",
		append([]string{"-h", host, "-p", port}, args...)...).Output()
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return string(out)
}
