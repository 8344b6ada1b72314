package compose

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

const root = "../../.."

// secrets are the variables without which the stack must not start.
var secrets = []string{
	"SECKILL_JWT_SECRET", "SECKILL_JWT_ADMIN_SECRET", "SECKILL_GUARD_SECRET", "SECKILL_REDIS_PASSWORD",
	"MYSQL_PASSWORD", "GRAFANA_PASSWORD",
}

// filled returns an environment in which every secret has a value that contains its name.
func filled() map[string]string {
	env := make(map[string]string, len(secrets))
	for _, name := range secrets {
		env[name] = "value-of-" + name + "-long-enough-for-it"
	}
	return env
}

// The compose files, from the root.
const (
	smallStack   = "docker-compose.yml"
	clusterStack = "deploy/cluster/compose.yml"
)

// load reads a compose file, with all profiles, and env as the environment, ignoring the machine's environment and
// .env.
func load(t *testing.T, file string, env map[string]string) (*types.Project, error) {
	t.Helper()
	var pairs []string
	for name, value := range env {
		pairs = append(pairs, name+"="+value)
	}
	options, err := cli.NewProjectOptions([]string{filepath.Join(root, file)}, cli.WithEnv(pairs),
		cli.WithProfiles([]string{"*"}))
	if err != nil {
		t.Fatal(err)
	}
	return options.LoadProject(t.Context())
}

// project returns the small stack's compose file with every secret set.
func project(t *testing.T) *types.Project {
	t.Helper()
	return projectOf(t, smallStack)
}

// projectOf returns a compose file with every secret set.
func projectOf(t *testing.T, file string) *types.Project {
	t.Helper()
	p, err := load(t, file, filled())
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return p
}

// variables returns a service's environment as a plain map; a variable without a value is empty.
func variables(s types.ServiceConfig) map[string]string {
	vars := make(map[string]string, len(s.Environment))
	for name, value := range s.Environment {
		if value != nil {
			vars[name] = *value
		}
	}
	return vars
}

// exampleLines returns the assignments in .env.example.
func exampleLines(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, ".env.example"))
	if err != nil {
		t.Fatal(err)
	}
	lines := make(map[string]string)
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, found := strings.Cut(line, "=")
		if !found {
			t.Fatalf(".env.example: %q is no assignment", line)
		}
		lines[name] = value
	}
	return lines
}

func TestServices(t *testing.T) {
	t.Parallel()
	want := []string{
		"server-1", "server-2", "nginx", "redis", "mysql", "prometheus", "alertmanager", "grafana", "stripe",
	}
	p := project(t)
	if len(p.Services) != len(want) {
		t.Errorf("services: got %v, want %v", p.ServiceNames(), want)
	}
	for _, name := range want {
		if _, found := p.Services[name]; !found {
			t.Errorf("no service %s", name)
		}
	}
}

func TestSecretsHaveNoDefault(t *testing.T) {
	t.Parallel()
	for _, secret := range secrets {
		t.Run(secret, func(t *testing.T) {
			t.Parallel()
			env := filled()
			for _, state := range []string{"unset", "empty"} {
				if env[secret] = ""; state == "unset" {
					delete(env, secret)
				}
				_, err := load(t, smallStack, env)
				if err == nil || !strings.Contains(err.Error(), secret) {
					t.Errorf("%s %s: got error %v, want one that names it", secret, state, err)
				}
			}
		})
	}
}

func TestExampleNamesEverySecretAndGivesNone(t *testing.T) {
	t.Parallel()
	lines := exampleLines(t)
	for _, secret := range secrets {
		if value, found := lines[secret]; !found || value != "" {
			t.Errorf("%s: found %t with value %q, want an empty line for make env to fill", secret, found, value)
		}
	}
	maps.DeleteFunc(lines, func(name, _ string) bool { return name == "ENTRY_PORT" })
	if len(lines) != len(secrets) {
		t.Errorf(".env.example has %v, want the secrets and ENTRY_PORT", lines)
	}
}
