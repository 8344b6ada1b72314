package compose

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/types"
)

// each runs check on every service, as a subtest that carries its name.
func each(t *testing.T, check func(t *testing.T, s types.ServiceConfig)) {
	t.Helper()
	for name, s := range project(t).Services {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, s)
		})
	}
}

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
			case "prometheus", "grafana":
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
		if len(s.CapAdd) > 0 && s.Name != "mysql" {
			t.Errorf("cap_add is %v; only the start script of mysql needs any", s.CapAdd)
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
		if s.Restart != types.RestartPolicyUnlessStopped {
			t.Errorf("restart is %q", s.Restart)
		}
		if s.HealthCheck == nil || len(s.HealthCheck.Test) < 2 || s.HealthCheck.Interval == nil || s.HealthCheck.Timeout == nil {
			t.Errorf("health check is %+v", s.HealthCheck)
		}
		if s.Logging == nil || s.Logging.Options["max-size"] == "" {
			t.Error("its log can fill the disk")
		}
		for name, dependency := range s.DependsOn {
			if dependency.Condition != types.ServiceConditionHealthy {
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
			// An engine makes an empty directory of a source that is not there, and the service starts without it.
			if _, err := os.Stat(filepath.Clean(v.Source)); err != nil {
				t.Error(err)
			}
		}
	})
}
