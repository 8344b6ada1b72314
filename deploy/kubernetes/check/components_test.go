package check

import (
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// TestIngress: the component leads all paths to the service, by a port that the service has.
func TestIngress(t *testing.T) {
	t.Parallel()
	all := render(t, "check/testdata/ingress")
	ingress := only[*networkingv1.Ingress](t, all, "Ingress")
	if len(ingress.Spec.Rules) != 1 || len(ingress.Spec.Rules[0].HTTP.Paths) != 1 {
		t.Fatalf("its rules are %+v", ingress.Spec.Rules)
	}
	path := ingress.Spec.Rules[0].HTTP.Paths[0]
	backend := path.Backend.Service
	if path.Path != "/" || backend == nil || !slices.ContainsFunc(all["Service"], func(o runtime.Object) bool {
		s, is := o.(*corev1.Service)
		return is && s.Name == backend.Name && s.Namespace == ingress.Namespace &&
			s.Spec.Ports[0].Name == backend.Port.Name
	}) {
		t.Errorf("%s leads to %+v, which no Service is", path.Path, backend)
	}
	if len(ingress.Spec.TLS) != 1 || !slices.Equal(ingress.Spec.TLS[0].Hosts, []string{ingress.Spec.Rules[0].Host}) {
		t.Errorf("its certificates are for %+v", ingress.Spec.TLS)
	}
}

// TestPodMonitor: Prometheus reads the operations port of the instances, and calls them as the alerts do.
func TestPodMonitor(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../monitoring/podmonitor.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var monitor struct {
		Spec struct {
			Selector struct {
				MatchLabels map[string]string `json:"matchLabels"`
			} `json:"selector"`
			PodMetricsEndpoints []struct {
				Port        string              `json:"port"`
				Relabelings []map[string]string `json:"relabelings"`
			} `json:"podMetricsEndpoints"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(text, &monitor); err != nil {
		t.Fatal(err)
	}
	d, c := deployment(t, render(t, "base"))
	for name, value := range monitor.Spec.Selector.MatchLabels {
		if d.Spec.Template.Labels[name] != value {
			t.Errorf("it selects %s=%s, pods have %q", name, value, d.Spec.Template.Labels[name])
		}
	}
	if len(monitor.Spec.PodMetricsEndpoints) != 1 || len(monitor.Spec.Selector.MatchLabels) == 0 {
		t.Fatalf("it is %+v", monitor.Spec)
	}
	endpoint := monitor.Spec.PodMetricsEndpoints[0]
	if !slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool { return p.Name == endpoint.Port }) {
		t.Errorf("pods have no port %s", endpoint.Port)
	}
	rules, err := os.ReadFile("../../prometheus/rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	if job := endpoint.Relabelings[0]["replacement"]; !strings.Contains(string(rules), `job="`+job+`"`) {
		t.Errorf("no alert knows the job %q", job)
	}
}

// TestSecretsAreKnown: each secret of the program can be given by the Kubernetes secret; those that are not always
// there are optional.
func TestSecretsAreKnown(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, all manifests) {
		_, c := deployment(t, all)
		for name, optional := range map[string]bool{
			"SECKILL_JWT_SECRET": false, "SECKILL_JWT_PREVIOUS_SECRET": true, "SECKILL_JWT_ADMIN_SECRET": false,
			"SECKILL_JWT_ADMIN_PREVIOUS_SECRET": true, "SECKILL_GUARD_SECRET": false, "SECKILL_PAYMENT_SECRET": true,
			"SECKILL_PAYMENT_PROVIDER_SECRETS": true, "SECKILL_PAYMENT_PROVIDER_PREVIOUS_SECRETS": true,
		} {
			i := slices.IndexFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == name })
			if i < 0 {
				t.Errorf("%s cannot be given", name)
				continue
			}
			ref := c.Env[i].ValueFrom.SecretKeyRef
			if got := ref.Optional != nil && *ref.Optional; got != optional {
				t.Errorf("%s is optional: %t, want %t", name, got, optional)
			}
		}
	})
}
