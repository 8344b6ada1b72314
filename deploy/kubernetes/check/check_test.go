package check

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// manifests are what kustomize makes of a folder, by kind.
type manifests map[string][]runtime.Object

// render renders a folder of deploy/kubernetes and decodes each document strictly.
func render(t *testing.T, folder string) manifests {
	t.Helper()
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), "../"+folder)
	if err != nil {
		t.Fatal(err)
	}
	text, err := resources.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	all := manifests{}
	for part := range bytes.SplitSeq(text, []byte("\n---\n")) {
		object, err := decode(part)
		if err != nil {
			t.Fatalf("%v in\n%s", err, part)
		}
		kind := object.GetObjectKind().GroupVersionKind().Kind
		all[kind] = append(all[kind], object)
	}
	return all
}

func decode(text []byte) (runtime.Object, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, appsv1.AddToScheme, autoscalingv2.AddToScheme,
		batchv1.AddToScheme, networkingv1.AddToScheme, policyv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	decoder := json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme,
		json.SerializerOptions{Yaml: true, Strict: true})
	object, _, err := decoder.Decode(text, nil, nil)
	return object, err
}

// only returns the object of its kind, which has to be the only one.
func only[T runtime.Object](t *testing.T, all manifests, kind string) T {
	t.Helper()
	if len(all[kind]) != 1 {
		t.Fatalf("%d objects of kind %s, want one", len(all[kind]), kind)
	}
	object, ok := all[kind][0].(T)
	if !ok {
		t.Fatalf("a %s is a %T", kind, all[kind][0])
	}
	return object
}

// each runs a check on what the base and the example make.
func each(t *testing.T, check func(t *testing.T, all manifests)) {
	t.Helper()
	for _, folder := range []string{"base", "example"} {
		t.Run(folder, func(t *testing.T) {
			t.Parallel()
			check(t, render(t, folder))
		})
	}
}

func deployment(t *testing.T, all manifests) (*appsv1.Deployment, *corev1.Container) {
	t.Helper()
	d := only[*appsv1.Deployment](t, all, "Deployment")
	if len(d.Spec.Template.Spec.Containers) != 1 {
		t.Fatal("a pod has more than the server")
	}
	return d, &d.Spec.Template.Spec.Containers[0]
}

// TestDecodeIsStrict: a misspelt field is an error.
func TestDecodeIsStrict(t *testing.T) {
	t.Parallel()
	if _, err := decode([]byte("apiVersion: v1\nkind: Service\nmetadata: {name: x}\nspec: {port: []}\n")); err == nil {
		t.Error("a field that a Service does not have is taken")
	}
}

// TestSelectors: everything selects the pods of the Deployment.
func TestSelectors(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, all manifests) {
		d, _ := deployment(t, all)
		pod := labels.Set(d.Spec.Template.Labels)
		selects := func(what string, s *v1.LabelSelector) {
			t.Helper()
			selector, err := v1.LabelSelectorAsSelector(s)
			if err != nil || selector.Empty() || !selector.Matches(pod) {
				t.Errorf("%s selects %v (%v), pods are %v", what, selector, err, pod)
			}
		}
		selects("the Deployment", d.Spec.Selector)
		selects("the PodDisruptionBudget",
			only[*policyv1.PodDisruptionBudget](t, all, "PodDisruptionBudget").Spec.Selector)
		selects("the NetworkPolicy", &only[*networkingv1.NetworkPolicy](t, all, "NetworkPolicy").Spec.PodSelector)
		for _, s := range d.Spec.Template.Spec.TopologySpreadConstraints {
			selects("spreading over "+s.TopologyKey, s.LabelSelector)
		}
		for _, object := range all["Service"] {
			s, _ := object.(*corev1.Service)
			selects("the Service "+s.Name, &v1.LabelSelector{MatchLabels: s.Spec.Selector})
		}
		h := only[*autoscalingv2.HorizontalPodAutoscaler](t, all, "HorizontalPodAutoscaler")
		if h.Spec.ScaleTargetRef.Kind != "Deployment" || h.Spec.ScaleTargetRef.Name != d.Name ||
			d.Spec.Replicas != nil {
			t.Errorf("the HorizontalPodAutoscaler scales %v; the Deployment has %v replicas of its own",
				h.Spec.ScaleTargetRef, d.Spec.Replicas)
		}
	})
}

// TestPorts: services, probes and the network policy name ports that the container has.
func TestPorts(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, all manifests) {
		_, c := deployment(t, all)
		var ports []string
		for _, p := range c.Ports {
			ports = append(ports, p.Name)
		}
		for path, probe := range map[string]*corev1.Probe{"/healthz": c.LivenessProbe, "/readyz": c.ReadinessProbe} {
			if probe == nil || probe.HTTPGet == nil || probe.HTTPGet.Path != path ||
				!slices.Contains(ports, probe.HTTPGet.Port.StrVal) {
				t.Errorf("the probe of %s is %v", path, probe)
			}
		}
		if c.StartupProbe == nil ||
			time.Duration(c.StartupProbe.FailureThreshold*c.StartupProbe.PeriodSeconds)*time.Second < time.Minute {
			t.Error("an instance that waits for another one's migration is killed")
		}
		for _, object := range all["Service"] {
			s, _ := object.(*corev1.Service)
			for _, p := range s.Spec.Ports {
				if !slices.Contains(ports, p.TargetPort.StrVal) {
					t.Errorf("the Service %s leads to the port %v", s.Name, p.TargetPort)
				}
			}
		}
		let := only[*networkingv1.NetworkPolicy](t, all, "NetworkPolicy").Spec
		if len(let.PolicyTypes) != 2 {
			t.Errorf("policy types are %v", let.PolicyTypes)
		}
		for _, rule := range let.Ingress {
			if len(rule.From) == 0 || len(rule.Ports) != 1 || !slices.Contains(ports, rule.Ports[0].Port.StrVal) {
				t.Errorf("the NetworkPolicy lets in %v", rule)
			}
		}
	})
}

// TestEnoughTimeToStop: a pod is killed only after all that the program may take to stop.
func TestEnoughTimeToStop(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, all manifests) {
		d, c := deployment(t, all)
		settings := settings(t, all)
		if c.Lifecycle == nil || c.Lifecycle.PreStop == nil || c.Lifecycle.PreStop.Sleep == nil {
			t.Fatal("no preStop")
		}
		took := time.Duration(c.Lifecycle.PreStop.Sleep.Seconds) * time.Second
		for _, name := range []string{"SECKILL_DRAIN_DELAY", "SECKILL_SHUTDOWN_TIMEOUT"} {
			d, err := time.ParseDuration(settings[name])
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			took += d
		}
		if grace := *d.Spec.Template.Spec.TerminationGracePeriodSeconds; time.Duration(grace)*time.Second < took+
			10*time.Second {
			t.Errorf("a pod is killed after %d s, and may take %v", grace, took)
		}
	})
}

// settings are those of the map that the pods read.
func settings(t *testing.T, all manifests) map[string]string {
	t.Helper()
	_, c := deployment(t, all)
	m := only[*corev1.ConfigMap](t, all, "ConfigMap")
	if len(c.EnvFrom) != 1 || c.EnvFrom[0].ConfigMapRef == nil || c.EnvFrom[0].ConfigMapRef.Name != m.Name {
		t.Fatalf("pods read %v, the settings are %s", c.EnvFrom, m.Name)
	}
	return m.Data
}

// TestSettingsExist: the program knows each setting, and no secret stands in the map.
func TestSettingsExist(t *testing.T) {
	t.Parallel()
	known, err := os.ReadFile("../../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	each(t, func(t *testing.T, all manifests) {
		_, c := deployment(t, all)
		for name, value := range settings(t, all) {
			if name != "GOMEMLIMIT" && !strings.Contains(string(known), "| `"+name+"` |") {
				t.Errorf("there is no setting %s", name)
			}
			if regexp.MustCompile(`SECRET|PASSWORD|DSN`).MatchString(name) {
				t.Errorf("%s=%s is for everybody to read", name, value)
			}
		}
		for _, e := range c.Env {
			if !strings.Contains(string(known), "| `"+e.Name+"` |") || e.Value != "" {
				t.Errorf("there is no setting %s, or it stands here as %q", e.Name, e.Value)
			}
		}
	})
}

// TestBounds: a pod has requests and limits, the program collects garbage before it is killed, and few pods go at a
// time.
func TestBounds(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, all manifests) {
		d, c := deployment(t, all)
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			requested, limit := c.Resources.Requests[name], c.Resources.Limits[name]
			if requested.IsZero() || limit.Cmp(requested) < 0 {
				t.Errorf("%s: requests %v, limit %v", name, &requested, &limit)
			}
		}
		soft, err := strconv.ParseInt(strings.TrimSuffix(settings(t, all)["GOMEMLIMIT"], "MiB"), 10, 64)
		if limit := c.Resources.Limits[corev1.ResourceMemory]; err != nil || soft<<20 >= limit.Value() ||
			soft<<20 < limit.Value()/2 {
			t.Errorf("GOMEMLIMIT is %d MiB (%v), the limit %v", soft, err, &limit)
		}
		h := only[*autoscalingv2.HorizontalPodAutoscaler](t, all, "HorizontalPodAutoscaler").Spec
		if h.MinReplicas == nil || *h.MinReplicas < 2 || h.MaxReplicas <= *h.MinReplicas {
			t.Errorf("between %v and %d pods", h.MinReplicas, h.MaxReplicas)
		}
		b := only[*policyv1.PodDisruptionBudget](t, all, "PodDisruptionBudget").Spec
		if b.MaxUnavailable == nil || b.MaxUnavailable.IntVal != 1 ||
			d.Spec.Strategy.RollingUpdate.MaxUnavailable.IntVal != 0 {
			t.Error("more than one pod may go at a time")
		}
	})
}

// TestConfined: a pod has no rights that the program does not need.
func TestConfined(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, all manifests) {
		d, c := deployment(t, all)
		pod, own := d.Spec.Template.Spec, c.SecurityContext
		if own == nil || !*own.ReadOnlyRootFilesystem || *own.AllowPrivilegeEscalation ||
			!slices.Equal(own.Capabilities.Drop, []corev1.Capability{"ALL"}) {
			t.Errorf("the container may %v", own)
		}
		if !*pod.SecurityContext.RunAsNonRoot ||
			pod.SecurityContext.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
			t.Errorf("the pod may %v", pod.SecurityContext)
		}
		if *pod.AutomountServiceAccountToken || *pod.EnableServiceLinks {
			t.Error("a token of Kubernetes, or variables of its services, are in the pod")
		}
	})
}
