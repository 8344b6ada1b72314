package compose

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/types"
)

// each runs check on every service of every stack, in a subtest with the service's name.
func each(t *testing.T, check func(t *testing.T, s types.ServiceConfig)) {
	t.Helper()
	for _, file := range []string{smallStack, clusterStack} {
		p := projectOf(t, file)
		for name, s := range p.Services {
			t.Run(p.Name+"/"+name, func(t *testing.T) {
				t.Parallel()
				check(t, s)
			})
		}
	}
}

// isJob reports whether a service runs once and ends.
func isJob(s types.ServiceConfig) bool { return s.Name == "redis-cluster" }

func TestImagesHaveAVersion(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s types.ServiceConfig) {
		_, tag, found := strings.Cut(s.Image[strings.LastIndex(s.Image, "/")+1:], ":")
		if !found || tag == "" || tag == "latest" {
			t.Errorf("image %q has no version", s.Image)
		}
	})
}

func TestOnlyTheEntryIsPublished(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s types.ServiceConfig) {
		for _, port := range s.Ports {
			switch s.Name {
			case "nginx":
			case "prometheus", "alertmanager", "grafana":
				if port.HostIP != "127.0.0.1" {
					t.Errorf("port %s is bound to %q, want 127.0.0.1", port.Published, port.HostIP)
				}
			default:
				t.Errorf("publishes %s", port.Published)
			}
		}
		if s.NetworkMode != "" {
			t.Errorf("network mode %q goes around the networks", s.NetworkMode)
		}
	})
	if got := len(project(t).Services["nginx"].Ports); got != 1 {
		t.Errorf("nginx publishes %d ports, want 1", got)
	}
}

func TestStoresAndServersAreOnTheInternalNetworkOnly(t *testing.T) {
	t.Parallel()
	p := project(t)
	if !p.Networks["inside"].Internal {
		t.Error("the network inside is not internal")
	}
	for _, name := range []string{"server-1", "server-2", "redis", "mysql"} {
		for network := range p.Services[name].Networks {
			if network != "inside" {
				t.Errorf("%s is on the network %s", name, network)
			}
		}
	}
}

func TestContainersAreConfined(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s types.ServiceConfig) {
		if !s.ReadOnly {
			t.Error("its file system can be written to")
		}
		if s.Privileged {
			t.Error("it is privileged")
		}
		if !slices.Contains(s.CapDrop, "ALL") {
			t.Errorf("cap_drop is %v, want ALL", s.CapDrop)
		}
		if len(s.CapAdd) > 0 && s.Name != "mysql" && !strings.HasPrefix(s.Name, "galera-") {
			t.Errorf("cap_add is %v; only the start scripts of databases need any", s.CapAdd)
		}
		if !slices.Contains(s.SecurityOpt, "no-new-privileges:true") {
			t.Errorf("security_opt is %v", s.SecurityOpt)
		}
		for _, v := range s.Volumes {
			if v.Type == types.VolumeTypeBind && !v.ReadOnly {
				t.Errorf("%s is mounted writable", v.Source)
			}
		}
	})
}

func TestContainersComeBackAndSayHowTheyAre(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s types.ServiceConfig) {
		if isJob(s) {
			return
		}
		if s.Restart != types.RestartPolicyUnlessStopped {
			t.Errorf("restart is %q", s.Restart)
		}
		if s.HealthCheck == nil || len(s.HealthCheck.Test) < 2 || s.HealthCheck.Interval == nil ||
			s.HealthCheck.Timeout == nil {
			t.Errorf("health check is %+v", s.HealthCheck)
		}
		if s.Logging == nil || s.Logging.Options["max-size"] == "" {
			t.Error("its log can fill the disk")
		}
		for name, dependency := range s.DependsOn {
			// Instances serve while their Galera node is away; they are only stopped before it.
			if dependency.Condition != types.ServiceConditionHealthy && name != "redis-cluster" &&
				!strings.HasPrefix(name, "galera-") {
				t.Errorf("starts when %s is %s, want healthy", name, dependency.Condition)
			}
		}
	})
}

func TestMountedFilesExist(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s types.ServiceConfig) {
		for _, v := range s.Volumes {
			if v.Type != types.VolumeTypeBind {
				continue
			}
			// If a source is missing, an engine creates an empty directory, and the service starts without its file.
			if _, err := os.Stat(filepath.Clean(v.Source)); err != nil {
				t.Error(err)
			}
		}
	})
}

// A container that leaks, forks or spins cannot starve the others.
func TestContainersAreBounded(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s types.ServiceConfig) {
		if s.MemLimit <= 0 || s.PidsLimit <= 0 || s.CPUS <= 0 {
			t.Errorf("memory %d, processes %d, processors %g: each needs a limit", s.MemLimit, s.PidsLimit, s.CPUS)
		}
		for _, mount := range s.Tmpfs {
			if !regexp.MustCompile(`:size=\d+m$`).MatchString(mount) {
				t.Errorf("tmpfs %s may take all memory", mount)
			}
		}
	})
}

// A process's own limit is below its container's, so that the container does not kill it first.
func TestLimitsFit(t *testing.T) {
	t.Parallel()
	p := project(t)
	const mb = 1 << 20
	number := func(text string) int64 {
		t.Helper()
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for _, name := range []string{"server-1", "server-2"} {
		s := p.Services[name]
		limit, found := strings.CutSuffix(variables(s)["GOMEMLIMIT"], "MiB")
		if soft := number(limit) * mb; !found || soft >= int64(s.MemLimit) || soft < int64(s.MemLimit)/2 {
			t.Errorf("%s: GOMEMLIMIT is %s, mem_limit %d", name, variables(s)["GOMEMLIMIT"], s.MemLimit)
		}
		connections := number(variables(s)["SECKILL_MAX_CONNECTIONS"])
		if connections*30<<10 > int64(s.MemLimit)/2 || connections+500 > int64(s.Ulimits["nofile"].Single) {
			t.Errorf("%s: too many connections: %d", name, connections)
		}
	}
	redis := p.Services["redis"]
	i := slices.Index(redis.Command, "--maxmemory")
	used, found := strings.CutSuffix(redis.Command[i+1], "mb")
	if !found || int64(redis.MemLimit) < 2*number(used)*mb {
		t.Errorf("redis: maxmemory %s, mem_limit %d", used, redis.MemLimit)
	}
}
