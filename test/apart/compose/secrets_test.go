package compose

import (
	"strings"
	"testing"
)

// Each shipped deployment gives all instances the secret of guards, without which no sale can have tickets or a
// challenge, and a secret for admins, without which whoever signs buyers' tokens can sign an admin's.
func TestDeploymentsHaveSecrets(t *testing.T) {
	t.Parallel()
	for name, key := range map[string]string{
		"SECKILL_GUARD_SECRET": "guard-secret", "SECKILL_JWT_ADMIN_SECRET": "jwt-admin-secret",
	} {
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
				"              valueFrom: {secretKeyRef: {name: seckill, key: " + key + "}}\n",
			"deploy/kubernetes/example/kustomization.yaml": "--from-literal=" + key + "=",
			"deploy/systemd/seckill.env":                   "\n" + name + "=\n",
			".env.example":                                 "\n" + name + "=\n",
		} {
			if !strings.Contains(text(t, file), want) {
				t.Errorf("%s lacks %q", file, want)
			}
		}
	}
}
