package check

import (
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// TestMigrationJob: with the component, a job of the same image and settings migrates, and the instances wait for it
// instead of migrating.
func TestMigrationJob(t *testing.T) {
	t.Parallel()
	all := render(t, "check/testdata/migration")
	d, server := deployment(t, all)
	job := only[*batchv1.Job](t, all, "Job")
	pod := job.Spec.Template.Spec
	if len(pod.Containers) != 1 || pod.RestartPolicy != corev1.RestartPolicyOnFailure {
		t.Fatalf("the job is %+v", pod)
	}
	c := pod.Containers[0]
	if c.Image != server.Image || !slices.Equal(c.Args, []string{"migrate"}) || job.Namespace != d.Namespace {
		t.Errorf("in %s it runs %s %v; the Deployment in %s runs %s", job.Namespace, c.Image, c.Args, d.Namespace,
			server.Image)
	}
	if len(c.EnvFrom) != 1 || c.EnvFrom[0].ConfigMapRef.Name != server.EnvFrom[0].ConfigMapRef.Name {
		t.Errorf("it reads %v, the instances %v", c.EnvFrom, server.EnvFrom)
	}
	secrets := func(env []corev1.EnvVar) (names []string) {
		for _, e := range env {
			if e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil {
				names = append(names, e.Name)
			}
		}
		return names
	}
	if own, theirs := secrets(c.Env), secrets(server.Env); !slices.Equal(own, theirs) {
		t.Errorf("it knows the secrets %v, the instances %v", own, theirs)
	}
	if !slices.Contains(server.Env, corev1.EnvVar{Name: "SECKILL_MIGRATE", Value: "false"}) {
		t.Error("the instances migrate, too")
	}
	if settings(t, all)["SECKILL_WAIT_FOR_STORES"] != "true" {
		t.Error("the instances do not wait for the job")
	}
	if name := "app.kubernetes.io/name"; job.Spec.Template.Labels[name] == d.Spec.Template.Labels[name] {
		t.Error("the services send buyers to the job")
	}
}
