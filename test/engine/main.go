package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"seckill/internal/testkit/server"
)

// inside is set in the environment of the part that runs in a space of its own.
const inside = "SECKILL_TEST_ENGINE_INSIDE"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "engine:", err)
		os.Exit(1) //nolint:gocritic // stop has nothing left to stop
	}
}

// options are the command line.
type options struct {
	quick, packed bool
	only          string
}

func run(ctx context.Context, args []string, out io.Writer) error {
	var o options
	set := flag.NewFlagSet("engine", flag.ContinueOnError)
	set.BoolVar(&o.quick, "quick", false, "only what CI runs: the single stack up, one coupon sold and paid, down")
	set.BoolVar(&o.packed, "packed", false,
		"pack the service's image from a binary that this machine's Go builds, in seconds")
	set.StringVar(&o.only, "run", "", "run only the cases whose names match this `pattern`")
	if err := set.Parse(args); err != nil {
		return err
	}
	if os.Getenv(inside) == "" {
		return outside(ctx, o, args, out)
	}
	return tryAll(ctx, o, out)
}

// outside installs what is missing, and runs this program again where nothing of the machine is in its way, and nothing
// of it stays: in a network, a view of mounts and a space of processes of its own.
func outside(ctx context.Context, o options, args []string, out io.Writer) error {
	if os.Geteuid() != 0 {
		return errors.New("the engine needs root")
	}
	if err := server.InstallEngine(ctx); err != nil {
		return err
	}
	if err := fetch(ctx, o); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	unlock, err := alone()
	if err != nil {
		return err
	}
	defer unlock()
	run, err := os.MkdirTemp("", "seckill-engine-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(run) }() // nothing in it is needed
	cmd := exec.CommandContext(ctx, "unshare", append([]string{
		"--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--", "tini", "-s", "--", self,
	}, args...)...)
	cmd.Env = append(os.Environ(), inside+"="+run)
	cmd.Stdout, cmd.Stderr = out, os.Stderr
	cmd.Cancel = func() error { return stopInside(cmd.Process.Pid) }
	return errors.Join(cmd.Run(), removeGroups())
}

// stopInside asks the part inside to end. Unshare, which waits for it, passes no signals on.
func stopInside(pid int) error {
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	for child := range strings.FieldsSeq(string(children)) {
		number, failed := strconv.Atoi(child)
		if failed == nil {
			failed = syscall.Kill(number, syscall.SIGTERM)
		}
		err = errors.Join(err, failed)
	}
	return err
}

// alone waits until no other run uses the engine's data, and returns the function that lets the next one begin.
func alone() (unlock func(), err error) {
	data, err := dataDir()
	if err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(data+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	return func() { _ = lock.Close() }, syscall.Flock(int(lock.Fd()), syscall.LOCK_EX)
}

// dataDir returns the folder of the engine's data. Images in it are kept between runs.
func dataDir() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	data := filepath.Join(cache, "seckill-testkit", "engine")
	return data, os.MkdirAll(data, 0o700)
}

// fetch gets everything that comes from elsewhere: inside there is no network.
func fetch(ctx context.Context, o options) error {
	entry, ledger, stores := roots()
	for _, root := range append(pluginRoots(), entry, ledger, stores, goRoot()) {
		if (o.quick || o.packed) && root.Name == goRoot().Name {
			continue
		}
		if _, err := root.Unpack(ctx); err != nil {
			return fmt.Errorf("packages for %s: %w", root.Name, err)
		}
	}
	program := []string{"go", "mod", "download"}
	if o.quick || o.packed {
		program = []string{"make", "build"}
	}
	if out, err := exec.CommandContext(ctx, program[0], program[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(program, " "), err, end(string(out)))
	}
	return nil
}

// removeGroups removes the control groups that the engine has made.
func removeGroups() error {
	tops, err := filepath.Glob("/sys/fs/cgroup/" + cgroup)
	if err != nil {
		return err
	}
	more, err := filepath.Glob("/sys/fs/cgroup/*/" + cgroup)
	if err != nil {
		return err
	}
	for _, top := range append(tops, more...) {
		find := exec.Command("find", top, //nolint:noctx // at the end
			"-depth", "-type", "d", "-exec", "rmdir", "{}", ";")
		out, err := find.CombinedOutput()
		if err != nil {
			return fmt.Errorf("remove %s: %w: %s", top, err, out)
		}
	}
	return nil
}

// prepare starts the engine in the space that outside has made, and its images.
func prepare(ctx context.Context, out io.Writer) (*engine, error) {
	data, err := dataDir()
	if err != nil {
		return nil, err
	}
	e := &engine{data: data, run: os.Getenv(inside), out: out}
	const script = `ip link set lo up
echo 1 > /proc/sys/net/ipv4/ip_forward
if ! grep -q ' /sys/fs/cgroup' /proc/self/mounts; then mount -t cgroup2 none /sys/fs/cgroup; fi
# Containers of a run that was killed do not start with the engine: what they mount is gone, and sweep removes them.
sed -i 's/"Name":"unless-stopped"/"Name":"no"/' "$1"/containers/*/hostconfig.json 2>/dev/null || true`
	if said, err := exec.CommandContext(ctx, "bash", "-euc", script, "prepare", e.data).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("network and control groups: %w: %s", err, said)
	}
	if err := e.start(ctx); err != nil {
		return nil, err
	}
	return e, errors.Join(e.plugins(ctx), e.sweep(ctx))
}

func tryAll(ctx context.Context, o options, out io.Writer) (err error) {
	e, err := prepare(ctx, out)
	if e != nil {
		defer func() { err = errors.Join(err, e.stop(false)) }()
	}
	if err != nil {
		return err
	}
	images, err := imagesOf("docker-compose.yml", "deploy/cluster/compose.yml")
	if err != nil {
		return err
	}
	if o.quick {
		if images, err = imagesOf("docker-compose.yml"); err != nil {
			return err
		}
	}
	if err := e.provide(ctx, images); err != nil {
		return err
	}
	if o.quick || o.packed {
		err = e.pack(ctx)
	} else {
		err = e.golang(ctx, "golang:1.26-bookworm")
	}
	if err != nil {
		return err
	}
	if o.quick {
		return e.quick(ctx)
	}
	return e.tryTable(ctx, o.only)
}

// ours are the images that the stack builds.
var ours = regexp.MustCompile(`^seckill(-stripe)?:`)

// imagesOf returns the images that compose files name, besides our own.
func imagesOf(files ...string) (images []string, err error) {
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for _, found := range regexp.MustCompile(`(?m)^ +image: (\S+)$`).FindAllStringSubmatch(string(text), -1) {
			if image := found[1]; !ours.MatchString(image) && !slices.Contains(images, image) {
				images = append(images, image)
			}
		}
	}
	return images, nil
}
