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
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/types"
	"github.com/go-sql-driver/mysql"

	"seckill/internal/config"
	"seckill/internal/testkit/server"
)

// named returns the services of the cluster's stack whose names begin so, by name.
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
	for prefix, want := range map[string]int{"server": 3, "redis": 6, "galera": 3} {
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

// opsAddr is where operations are in every deployment: the default's port.
const opsAddr = ":8081"

// Each instance has settings that the program takes, knows nodes of the Redis Cluster, and a Galera node of its own.
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
			t.Errorf("%s: embedded %t, Redis %s, instance %q", name, cfg.Embedded(), cfg.Redis.Mode, variables(s)["SECKILL_INSTANCE"])
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

// Every node has the shared configuration, a volume of its own, and a limit that its own bounds fit into.
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
		if flag(s.Command, "--requirepass") == "" || flag(s.Command, "--requirepass") != flag(s.Command, "--masterauth") {
			t.Errorf("%s: replicas cannot log in: %v", name, s.Command)
		}
		if !slices.ContainsFunc(s.Volumes, volumeAt("/data")) || !slices.ContainsFunc(s.Volumes, fileAt("/etc/seckill/redis.conf")) {
			t.Errorf("%s: its volumes are %v", name, s.Volumes)
		}
		addresses[s.Networks["inside"].Ipv4Address] = true
	}
	if delete(addresses, ""); len(addresses) != 6 {
		t.Errorf("addresses that last: %v, want one for each node", addresses)
	}
	for name, s := range named(t, "galera") {
		if !slices.ContainsFunc(s.Volumes, volumeAt("/var/lib/mysql")) || !slices.ContainsFunc(s.Volumes, fileAt("/etc/mysql/conf.d/galera.cnf")) {
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

// The entry of each stack knows all of its instances, and no others.
func TestEntryKnowsTheInstances(t *testing.T) {
	t.Parallel()
	for stack, conf := range map[string]string{smallStack: "deploy/nginx/instances.conf", clusterStack: "deploy/cluster/instances.conf"} {
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

// TestGaleraNodeStarts: a node founds a cluster when it may, and joins otherwise.
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

// TestRedisClusterIsMade: the script makes a cluster of six new nodes, and leaves it alone the next time.
func TestRedisClusterIsMade(t *testing.T) {
	t.Parallel()
	conf, err := filepath.Abs(root + "/deploy/cluster/redis.conf")
	if err != nil {
		t.Fatal(err)
	}
	script := []string{root + "/deploy/cluster/redis-cluster.sh"}
	for range 6 {
		node := startNode(t, conf)
		script = append(script, node)
		redisCLI(t, node, "config", "set", "masterauth", "secret")
		redisCLI(t, node, "config", "set", "requirepass", "secret")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for run, creates := range []bool{true, false} {
		cmd := exec.CommandContext(ctx, "sh", script...)
		cmd.Env = append(os.Environ(), "REDISCLI_AUTH=secret")
		out, err := cmd.CombinedOutput()
		if err != nil || strings.Contains(string(out), "All 16384 slots covered") != creates {
			t.Fatalf("run %d: %v\n%s", run+1, err, out)
		}
	}
	nodes := redisCLI(t, script[1], "-a", "secret", "cluster", "nodes")
	if strings.Count(nodes, "master -") != 3 || strings.Count(nodes, "slave ") != 3 {
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
	out, err := exec.CommandContext(t.Context(), "redis-cli", append([]string{"-h", host, "-p", port}, args...)...).Output()
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return string(out)
}
