package compose

import (
	"testing"

	"github.com/compose-spec/compose-go/v2/types"
)

// Two simultaneous builds with the same tag would make the first `make up` fail.
func TestEveryTagIsBuiltOnce(t *testing.T) {
	t.Parallel()
	services := project(t).Services
	builder := map[string]string{}
	for name, s := range services {
		if s.Build == nil {
			continue
		}
		if other, found := builder[s.Image]; found {
			t.Errorf("%s and %s both build %s", name, other, s.Image)
		}
		builder[s.Image] = name
	}
	if len(builder) != 2 || builder["seckill-stripe:stack"] != "stripe" {
		t.Errorf("images built here: %v, want the service's, and seckill-stripe's", builder)
	}
	for name, s := range services {
		if _, found := builder[s.Image]; found && s.Build == nil && s.PullPolicy != types.PullPolicyNever {
			t.Errorf("%s: pull_policy is %q, but %s is in no registry", name, s.PullPolicy, s.Image)
		}
	}
	for _, name := range []string{"server-1", "server-2"} {
		if _, found := builder[services[name].Image]; !found {
			t.Errorf("%s of %s is never built", services[name].Image, name)
		}
	}
}
