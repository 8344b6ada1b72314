package install

import (
	"archive/zip"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"seckill/internal/testkit"
	"seckill/internal/testkit/child"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const (
	path    = "example.com/shop/coupons"
	release = "v1.0.0"
)

// TestInstall renames a copy, and installs the server and loadgen of its release with nothing but their names. They say
// which release they are. The Go client is a module of its own, fetched in the same way.
func TestInstall(t *testing.T) {
	t.Parallel()
	root, err := child.Root(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	copied, proxy := testkit.CopyCheckout(t), t.TempDir()
	run(t, root, nil, "go", "run", "./deploy/rename", "-C", copied, path)
	offer(t, proxy, path, copied)
	offer(t, proxy, path+"/clients/go", filepath.Join(copied, "clients", "go"))

	fetched := strings.TrimSpace(run(t, root, nil, "go", "env", "GOMODCACHE"))
	bin, cache := t.TempDir(), t.TempDir()
	env := append(os.Environ(), "GOBIN="+bin, "GOMODCACHE="+cache, "CGO_ENABLED=0", "GOFLAGS=-modcacherw -trimpath",
		// What others have made is there already. Only this module's versions are looked for, and here alone.
		"GOPROXY=file://"+proxy+",file://"+filepath.Join(fetched, "cache", "download"), "GOSUMDB=off", "GOWORK=off")
	elsewhere := t.TempDir() // in no module
	run(t, elsewhere, env, "go", "install", path+"/cmd/server@"+release, path+"/cmd/loadgen@"+release)
	said := run(t, elsewhere, env, filepath.Join(bin, "server"), "version")
	if !strings.Contains(said, "seckill "+release) {
		t.Errorf("the server says %q", said)
	}
	run(t, elsewhere, env, "go", "mod", "init", "example.com/page")
	run(t, elsewhere, env, "go", "get", path+"/clients/go@"+release)
	run(t, elsewhere, env, "go", "build", path+"/clients/go")
}

// run runs a command and returns what it printed.
func run(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = dir, env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// offer writes a module in the folder, as a module proxy serves it.
func offer(t *testing.T, proxy, module, folder string) {
	t.Helper()
	at := filepath.Join(proxy, filepath.FromSlash(module), "@v")
	definition, err := os.ReadFile(filepath.Join(folder, "go.mod"))
	err = errors.Join(err, os.MkdirAll(at, 0o700))
	for name, text := range map[string]string{
		"list": release + "\n", release + ".mod": string(definition),
		release + ".info": `{"Version":"` + release + `"}`,
	} {
		err = errors.Join(err, os.WriteFile(filepath.Join(at, name), []byte(text), 0o600))
	}
	if err = errors.Join(err, pack(filepath.Join(at, release+".zip"), module+"@"+release, folder)); err != nil {
		t.Fatal(err)
	}
}

// pack writes a folder's files into a zip, without the modules in it.
func pack(file, prefix, folder string) error {
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	archive := zip.NewWriter(out)
	err = filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if _, err := os.Stat(filepath.Join(name, "go.mod")); err == nil && name != folder {
				return fs.SkipDir
			}
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		inside := strings.TrimPrefix(name, folder+string(filepath.Separator))
		w, err := archive.Create(prefix + "/" + filepath.ToSlash(inside))
		if err != nil {
			return err
		}
		_, err = w.Write(text)
		return err
	})
	return errors.Join(err, archive.Close(), out.Close())
}
