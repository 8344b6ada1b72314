package check

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// TestStripe: the component adds a Deployment that the services of the instances do not select, that the public reaches
// by one path alone, and that the network lets through to the instances and back.
func TestStripe(t *testing.T) {
	t.Parallel()
	all := render(t, "check/testdata/stripe")
	pods := map[string]labels.Set{}
	for _, o := range all["Deployment"] {
		d, is := o.(*appsv1.Deployment)
		if !is || len(d.Spec.Template.Spec.Containers) != 1 {
			t.Fatalf("%+v", o)
		}
		pods[d.Name] = d.Spec.Template.Labels
		c := d.Spec.Template.Spec.Containers[0]
		if s := c.SecurityContext; !*s.ReadOnlyRootFilesystem || *s.AllowPrivilegeEscalation ||
			!*d.Spec.Template.Spec.SecurityContext.RunAsNonRoot || c.Resources.Limits.Memory().IsZero() {
			t.Errorf("%s is not confined", d.Name)
		}
	}
	if len(pods) != 2 {
		t.Fatalf("%v", pods)
	}
	for _, o := range all["Service"] {
		s, is := o.(*corev1.Service)
		want := "seckill"
		if is && s.Name == "seckill-stripe" {
			want = s.Name
		}
		for name, of := range pods {
			if got := labels.SelectorFromSet(s.Spec.Selector).Matches(of); got != (name == want) {
				t.Errorf("%s selects pods of %s: %t", s.Name, name, got)
			}
		}
	}
	path := only[*networkingv1.Ingress](t, all, "Ingress").Spec.Rules[0].HTTP.Paths[0]
	if path.Path != "/stripe/" || *path.PathType != networkingv1.PathTypeExact ||
		path.Backend.Service.Name != "seckill-stripe" {
		t.Errorf("the public reaches %+v", path)
	}
	lets := map[string]bool{}
	for _, o := range all["NetworkPolicy"] {
		p, is := o.(*networkingv1.NetworkPolicy)
		if !is {
			t.Fatal(o)
		}
		of := p.Spec.PodSelector.MatchLabels["app.kubernetes.io/name"]
		for _, rule := range p.Spec.Ingress {
			for _, from := range rule.From {
				if from.PodSelector != nil {
					lets[from.PodSelector.MatchLabels["app.kubernetes.io/name"]+" into "+of] = true
				}
			}
		}
		for _, rule := range p.Spec.Egress {
			for _, to := range rule.To {
				if to.PodSelector != nil {
					lets[of+" out to "+to.PodSelector.MatchLabels["app.kubernetes.io/name"]] = true
				}
			}
		}
	}
	for _, way := range []string{
		"seckill into seckill-stripe", "seckill-stripe into seckill", "seckill out to seckill-stripe",
		"seckill-stripe out to seckill",
	} {
		if !lets[way] {
			t.Errorf("the network does not let %s: %v", way, strings.Join(keys(lets), ", "))
		}
	}
}

func keys(of map[string]bool) (all []string) {
	for k := range of {
		all = append(all, k)
	}
	return all
}
