package compose

import (
	"strings"
	"testing"

	"seckill/internal/config"
)

// The program accepts the settings of deploy/kubernetes together with the secret. `make kubernetes-check` checks the
// rest of the manifests.
func TestKubernetesSettingsAreRight(t *testing.T) {
	t.Parallel()
	environ := []string{
		"SECKILL_JWT_SECRET=" + filled()["SECKILL_JWT_SECRET"], "SECKILL_REDIS_PASSWORD=p",
		"SECKILL_MYSQL_DSN=seckill:p@tcp(db:3306)/seckill", "SECKILL_INSTANCE=seckill-1",
	}
	for line := range strings.Lines(text(t, "deploy/kubernetes/base/settings.env")) {
		if strings.HasPrefix(line, "SECKILL_") {
			environ = append(environ, strings.TrimSpace(line))
		}
	}
	cfg, err := config.Load(environ)
	if err != nil || cfg.Embedded() || cfg.HTTP.OpsAddr != opsAddr {
		t.Errorf("embedded: %t, operations at %s, want %s; %v", cfg.Embedded(), cfg.HTTP.OpsAddr, opsAddr, err)
	}
	example := found(`(?m)^      - (SECKILL_\S+)$`, text(t, "deploy/kubernetes/example/kustomization.yaml"))
	if len(example) < 2 {
		t.Fatalf("the example sets %v", example)
	}
	if _, err := config.Load(append(environ, example...)); err != nil {
		t.Errorf("with the example's: %v", err)
	}
}
