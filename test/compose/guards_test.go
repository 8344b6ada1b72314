package compose

import (
	"strings"
	"testing"
)

// Each shipped deployment gives all instances the secret of guards: without it no sale can have tickets or a challenge.
func TestDeploymentsCanHaveTickets(t *testing.T) {
	t.Parallel()
	const name = "SECKILL_GUARD_SECRET"
	want := filled()[name]
	for _, file := range []string{smallStack, clusterStack} {
		servers := 0
		for _, s := range projectOf(t, file).Services {
			if vars := variables(s); vars["SECKILL_JWT_SECRET"] != "" {
				servers++
				if vars[name] != want {
					t.Errorf("%s: %s has no %s", file, s.Name, name)
				}
			}
		}
		if servers < 2 {
			t.Errorf("%s has %d servers", file, servers)
		}
	}
	for file, want := range map[string]string{
		"deploy/kubernetes/base/deployment.yaml": "- name: " + name + "\n" +
			"              valueFrom: {secretKeyRef: {name: seckill, key: guard-secret}}\n",
		"deploy/kubernetes/example/kustomization.yaml": "--from-literal=guard-secret=",
		"deploy/systemd/seckill.env":                   "\n" + name + "=\n",
		".env.example":                                 "\n" + name + "=\n",
	} {
		if !strings.Contains(text(t, file), want) {
			t.Errorf("%s lacks %q", file, want)
		}
	}
}
