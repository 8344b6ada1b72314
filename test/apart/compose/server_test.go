package compose

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/types"
	"github.com/google/go-cmp/cmp"

	"seckill/internal/config"
)

// volumeAt matches a named volume that is mounted at target.
func volumeAt(target string) func(types.ServiceVolumeConfig) bool {
	return func(v types.ServiceVolumeConfig) bool {
		return v.Type == types.VolumeTypeVolume && v.Source != "" && v.Target == target
	}
}

func TestServersDifferInTheirInstanceOnly(t *testing.T) {
	t.Parallel()
	p := project(t)
	one, two := variables(p.Services["server-1"]), variables(p.Services["server-2"])
	if one["SECKILL_INSTANCE"] != "server-1" || two["SECKILL_INSTANCE"] != "server-2" {
		t.Errorf("instances are %q and %q", one["SECKILL_INSTANCE"], two["SECKILL_INSTANCE"])
	}
	delete(one, "SECKILL_INSTANCE")
	delete(two, "SECKILL_INSTANCE")
	if diff := cmp.Diff(one, two); diff != "" {
		t.Errorf("server-1 and server-2 differ:\n%s", diff)
	}
}

func TestServersNeverSellFromMemory(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"server-1", "server-2"} {
		if got := variables(project(t).Services[name])["SECKILL_EMBEDDED"]; got != "never" {
			t.Errorf("%s: SECKILL_EMBEDDED is %q, want never", name, got)
		}
	}
	image, err := os.ReadFile(filepath.Join(root, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(image), "ENV SECKILL_EMBEDDED=never") {
		t.Error("the image does not set SECKILL_EMBEDDED=never")
	}
}

func TestServersUseTheStack(t *testing.T) {
	t.Parallel()
	env := filled()
	vars := variables(project(t).Services["server-1"])
	for name, want := range map[string]string{
		"SECKILL_REDIS_ADDRS":    "redis:6379",
		"SECKILL_REDIS_PASSWORD": env["SECKILL_REDIS_PASSWORD"],
		"SECKILL_MYSQL_DSN":      "seckill:" + env["MYSQL_PASSWORD"] + "@tcp(mysql:3306)/seckill",
		"SECKILL_JWT_SECRET":     env["SECKILL_JWT_SECRET"],
	} {
		if vars[name] != want {
			t.Errorf("%s is %q, want %q", name, vars[name], want)
		}
	}
}

func TestServersAreConfiguredRight(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"server-1", "server-2"} {
		var environ []string
		for variable, value := range variables(project(t).Services[name]) {
			environ = append(environ, variable+"="+value)
		}
		cfg, err := config.Load(environ)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if cfg.Embedded() {
			t.Errorf("%s would run embedded", name)
		}
	}
}

func TestServersHaveTimeToFinish(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"server-1", "server-2"} {
		s := project(t).Services[name]
		took, err := time.ParseDuration(variables(s)["SECKILL_SHUTDOWN_TIMEOUT"])
		if err != nil {
			t.Fatal(err)
		}
		if s.StopGracePeriod == nil || time.Duration(*s.StopGracePeriod) <= took {
			t.Errorf("%s is killed after %v, but may take %v to stop", name, s.StopGracePeriod, took)
		}
	}
}
