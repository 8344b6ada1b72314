package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// upWithin is how long a stack may take from nothing to healthy, compiling included.
const upWithin = 25 * time.Minute

// openFiles is the limit of open files in the compose files.
const openFiles = 65536

// stack is a compose stack in a checkout of the work tree.
type stack struct {
	*engine
	dir   string
	files []string // arguments of docker compose that name its files
	shop  *shop
	order string // the first coupon's
}

// original makes a repository of the work tree as it is, once for a run, from which users clone.
func (e *engine) original(ctx context.Context) (string, error) {
	dir := filepath.Join(e.run, "original")
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	const script = `mkdir "$1"
if git rev-parse --git-dir >/dev/null 2>&1; then
	git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do
		if [ -e "$file" ]; then printf '%s\0' "$file"; fi
	done | tar --null -T - -c | tar -x -C "$1"
else
	tar --exclude=./bin --exclude=./dist --exclude=./data --exclude=node_modules -c . | tar -x -C "$1"
fi
cd "$1"
git init -q -b main
git -c core.autocrlf=false add -A
git -c user.name=test -c user.email=test@localhost commit -q -m 'The work tree'`
	if out, err := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", script, "original", dir).
		CombinedOutput(); err != nil {
		return "", fmt.Errorf("copy of the work tree: %w: %s", err, out)
	}
	return dir, nil
}

// clone checks the work tree out as a user with that umask does.
func (e *engine) clone(ctx context.Context, name string, umask int) (string, error) {
	from, err := e.original(ctx)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(e.run, name)
	script := fmt.Sprintf(`umask %03o; rm -rf "$2"; git clone -q "$1" "$2"`, umask)
	cmd := e.command(ctx, "bash", "-euc", script, "clone", from, dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("git clone: %w: %s", err, out)
	}
	return dir, nil
}

// single is the stack of docker-compose.yml in a checkout.
func (e *engine) single(dir string) *stack { return &stack{engine: e, dir: dir} }

// cluster is the stack of deploy/cluster in a checkout.
func (e *engine) cluster(dir string) *stack {
	return &stack{engine: e, dir: dir, files: []string{"-f", "deploy/cluster/compose.yml", "--env-file", ".env"}}
}

// sh runs a line of a user's shell in the checkout, and returns what it prints.
func (s *stack) sh(ctx context.Context, line string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, upWithin)
	defer cancel()
	cmd := s.command(ctx, "bash", "-euo", "pipefail", "-c", line)
	cmd.Dir = s.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("%s: %w: %s", line, err, end(string(out)))
	}
	return string(out), nil
}

// compose runs a command of docker compose on the stack.
func (s *stack) compose(ctx context.Context, args ...string) (string, error) {
	return s.sh(ctx, "docker compose "+strings.Join(append(append([]string{}, s.files...), args...), " "))
}

// env runs make env, adds lines to .env, and reads the secrets.
func (s *stack) env(ctx context.Context, lines ...string) error {
	if _, err := s.sh(ctx, "make env"); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(s.dir, ".env"), os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, strings.Join(lines, "\n"))
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	values, err := s.values()
	if err != nil {
		return err
	}
	s.shop = newShop("http://127.0.0.1:"+values["ENTRY_PORT"], values["SECKILL_JWT_SECRET"],
		values["SECKILL_JWT_ADMIN_SECRET"])
	return s.override()
}

// values are the settings in .env.
func (s *stack) values() (map[string]string, error) {
	text, err := os.ReadFile(filepath.Join(s.dir, ".env"))
	if err != nil {
		return nil, err
	}
	values := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if name, value, found := strings.Cut(strings.TrimSpace(line), "="); found && !strings.HasPrefix(name, "#") {
			values[name] = value
		}
	}
	return values, nil
}

// sandbox are the lines of .env with which the sandbox takes payments.
func sandbox() []string {
	return []string{
		"SECKILL_PAYMENT_PROVIDER=sandbox", "SECKILL_PAYMENT_SECRET=a-secret-of-the-sandbox-of-32-bytes-or-more",
	}
}

// override adds a file that lowers the containers' limits of open files where the machine's own are lower, and names
// the packed build context where there is one.
func (s *stack) override() error {
	file, override := "docker-compose.yml", "docker-compose.override.yml" // which docker compose reads by itself
	if len(s.files) > 0 {
		file, override = s.files[1], "override.yml"
	}
	text, err := os.ReadFile(filepath.Join(s.dir, file))
	if err != nil {
		return err
	}
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	_, services, _ := strings.Cut(string(text), "\nservices:\n")
	services, _, _ = strings.Cut(services, "\nnetworks:\n")
	lines := []string{"services:"}
	for _, found := range regexp.MustCompile(`(?m)^  ([\w-]+):$`).FindAllStringSubmatch(services, -1) {
		lines = append(lines, "  "+found[1]+":", fmt.Sprintf("    ulimits: {nofile: %d}", min(limit.Max, openFiles)))
		if found[1] == "server-1" && s.packed != "" {
			lines = append(lines, "    build: {context: "+s.packed+"}")
		}
	}
	if len(s.files) > 0 {
		s.files = append(s.files, "-f", override)
	}
	return os.WriteFile(filepath.Join(s.dir, override), []byte(strings.Join(lines, "\n")+"\n"), 0o600)
}

// container is the id of the container of a service.
func (s *stack) container(ctx context.Context, service string) (string, error) {
	out, err := s.compose(ctx, "ps", "--all", "--quiet", service)
	return strings.TrimSpace(out), err
}

// healthy waits until every container that has a health check is healthy.
func (s *stack) healthy(ctx context.Context) error {
	return eventually(ctx, healthyWithin, func(ctx context.Context) error {
		out, err := s.compose(ctx, "ps", "--all", "--format", "'{{.Service}} {{.State}} {{.Health}}'")
		if err != nil {
			return err
		}
		var wrong []string
		for line := range strings.Lines(out) {
			words := strings.Fields(line)
			done := len(words) == 2 && words[0] == "redis-cluster"
			if !done && !strings.HasSuffix(strings.TrimSpace(line), "running healthy") {
				wrong = append(wrong, strings.TrimSpace(line))
			}
		}
		if len(wrong) > 0 || strings.TrimSpace(out) == "" {
			return fmt.Errorf("not healthy: %s", strings.Join(wrong, ", "))
		}
		return nil
	})
}

// why adds to an error how the containers are that are not well, and what they said last.
func (s *stack) why(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	const script = `docker ps --all --format '{{.Names}}|{{.Status}}' | grep -v '(healthy)' |
while IFS='|' read -r name status; do
	echo "== $name: $status"
	docker inspect --format '{{with .State.Health}}{{range .Log}}{{.Output}}{{end}}{{end}}' "$name" | tail -n 2
	docker logs --tail 12 "$name" 2>&1 | cut -c -300
done`
	out, failed := s.command(ctx, "bash", "-c", script).CombinedOutput()
	return errors.Join(err, failed, errors.New(string(out)))
}
