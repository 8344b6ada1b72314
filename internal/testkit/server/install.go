package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// errNotInstalled means that a program is missing and could not be installed. The error that wraps it says what to
// install or which environment variable to set instead.
var errNotInstalled = errors.New("not installed")

// extraDirs are searched after PATH, because daemons are often outside a user's PATH.
var extraDirs = []string{"/usr/sbin", "/usr/local/sbin", "/usr/local/bin", "/opt/homebrew/bin"}

// find returns the path of the first of the named programs that exists, or "".
func find(names ...string) string {
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
		for _, dir := range extraDirs {
			if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
				return path
			}
		}
	}
	return ""
}

// Program returns the path of a program, installing it with Debian's packages if possible.
func Program(ctx context.Context, name string, packages ...string) (string, error) {
	if err := ensure(ctx, func() bool { return find(name) != "" }, packages); err != nil {
		return "", fmt.Errorf("%s is %w; install it (Debian: apt-get install %s)",
			name, err, strings.Join(packages, " "))
	}
	return find(name), nil
}

// redisProgram returns the path of redis-server, or of the program that [EnvRedisProgram] names.
func redisProgram(ctx context.Context) (string, error) {
	if path, err := chosenProgram(ctx, EnvRedisProgram, newerRedis()); path != "" || err != nil {
		return path, err
	}
	path, err := Program(ctx, "redis-server", "redis-server")
	if err != nil {
		err = fmt.Errorf("%w, or set %s to the host:port of a running Redis 7", err, EnvRedisAddr)
	}
	return path, err
}

// mariaDBPrograms returns the paths of mariadbd and mariadb-install-db, installing them if possible. If
// [EnvMySQLProgram] is set, they are those of its program; with a MySQL there is no file at installDB.
func mariaDBPrograms(ctx context.Context) (daemon, installDB string, err error) {
	if daemon, err = chosenProgram(ctx, EnvMySQLProgram, newerMySQL()); daemon != "" || err != nil {
		return daemon, filepath.Join(baseOf(daemon), "bin", "mariadb-install-db"), err
	}
	look := func() bool { return find("mariadbd") != "" && find("mariadb-install-db") != "" }
	// The core packages contain the programs without a system service; older systems only have the complete server.
	err = ensure(ctx, look, []string{"mariadb-server-core", "mariadb-client-core"}, []string{"mariadb-server"})
	if err != nil {
		return "", "", fmt.Errorf("mariadbd or mariadb-install-db is %w; install them "+
			"(Debian: apt-get install mariadb-server), or set %s to the DSN of a running MariaDB or MySQL, "+
			"such as user:password@tcp(127.0.0.1:3306)/", err, EnvMySQLDSN)
	}
	return find("mariadbd"), find("mariadb-install-db"), nil
}

// ChromiumProgram returns the path of Chromium's headless shell, installing it with Chinese fonts if possible, or else
// of a full Chromium or Chrome, which takes twice as long: even without a desktop, it draws a browser around each page.
func ChromiumProgram(ctx context.Context) (string, error) {
	const shell = "chromium-headless-shell"
	path, err := Program(ctx, shell, shell, "fonts-noto-cjk")
	if err == nil {
		return path, nil
	}
	if other := find("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"); other != "" {
		return other, nil
	}
	return "", err
}

// AlertmanagerPrograms returns the paths of Alertmanager and amtool, installing them if possible.
func AlertmanagerPrograms(ctx context.Context) (manager, tool string, err error) {
	names := []string{"prometheus-alertmanager", "alertmanager"} // Debian's, and its own
	look := func() bool { return find(names...) != "" && find("amtool") != "" }
	if err := ensure(ctx, look, names[:1]); err != nil {
		return "", "", fmt.Errorf("alertmanager is %w; install it (Debian: apt-get install prometheus-alertmanager; "+
			"its service need not run)", err)
	}
	return find(names...), find("amtool"), nil
}

// ensure installs the first package set that apt-get accepts, unless found returns true. Concurrent processes wait for
// each other.
func ensure(ctx context.Context, found func() bool, packageSets ...[]string) error {
	if found() {
		return nil
	}
	apt := find("apt-get")
	if apt == "" || os.Geteuid() != 0 {
		return fmt.Errorf("%w (and this is not root on a system with apt-get)", errNotInstalled)
	}
	unlock, err := lockFile(ctx, filepath.Join(os.TempDir(), "seckill-testkit-install.lock"))
	if err != nil {
		return fmt.Errorf("%w: %w", errNotInstalled, err)
	}
	defer unlock()
	if found() { // another process installed it meanwhile
		return nil
	}
	allow, err := forbidServices()
	if err != nil {
		return fmt.Errorf("%w: %w", errNotInstalled, err)
	}
	defer allow()

	fmt.Fprintf(os.Stderr, "installing %s with apt-get …\n", strings.Join(packageSets[0], " "))
	errs := []error{aptGet(ctx, apt, "update", "-q")} // if it fails, the packages may still be available
	for _, set := range packageSets {
		err := aptGet(ctx, apt, append([]string{"install", "-q", "-y", "--no-install-recommends"}, set...)...)
		if err == nil && found() {
			return nil
		}
		errs = append(errs, err)
	}
	return fmt.Errorf("%w: %w", errNotInstalled, errors.Join(errs...))
}

// aptGet runs apt-get without questions. Its error includes the end of the output.
func aptGet(ctx context.Context, apt string, args ...string) error {
	// Mirrors may fail for a moment, and the lists of a mirror that lags count as expired.
	cmd := exec.CommandContext(ctx, apt,
		append([]string{"-o", "Acquire::Retries=5", "-o", "Acquire::Check-Valid-Until=false"}, args...)...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("apt-get %s: %w: %s", strings.Join(args, " "), err, tail(out, 600))
	}
	return nil
}

// policyPath is the script that Debian's packages ask whether they may start a service. Debian fixes the path.
const policyPath = "/usr/sbin/policy-rc.d"

// forbidServices prevents packages from starting system services during their installation, and returns the function
// that ends this. If the system already has a policy, that one stays. Ours names this process, so that it has no effect
// once the process has died.
func forbidServices() (allow func(), err error) {
	f, err := os.OpenFile(policyPath, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if errors.Is(err, os.ErrExist) {
		return func() {}, nil
	}
	if err != nil {
		return nil, err
	}
	_, err = fmt.Fprintf(f, "#!/bin/sh\n"+
		"# Made by seckill's tests while they install packages; may be removed.\n"+
		"kill -0 %d 2>/dev/null && exit 101\nexit 0\n", os.Getpid())
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, errors.Join(err, os.Remove(policyPath))
	}
	return func() { _ = os.Remove(policyPath) }, nil // if it stays, it forbids nothing
}
