package main

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"seckill/internal/testkit/server"
)

// scripts are the start scripts of the stand-ins.
//
//go:embed images/*.sh
var scripts embed.FS

// standIn is an image of Debian's packages under the name of one that a registry has.
type standIn struct {
	name   string // the image's name without its version
	root   server.Root
	script string   // its start script; "" for none
	build  []string // lines of its Dockerfile after the script
	note   string   // what is not as in the image that it stands in for
}

// Packages of the roots. Busybox is the shell and the tools, as in the images of Alpine.
func roots() (entry, ledger, stores server.Root) {
	entry = server.Root{
		Name: "entry-1", Suites: []string{"sid", "testing"},
		Packages: []string{"busybox-static", "nginx", "prometheus", "prometheus-alertmanager", "libc-bin"},
	}
	ledger = server.Root{
		Name: "ledger-1", Suites: []string{"sid", "testing"},
		Packages: []string{"busybox-static", "mysql-server-core", "mysql-client-core", "gosu", "libc-bin"},
	}
	stores = server.Root{
		Name: "stores-2", Suites: []string{"bookworm"},
		Packages: []string{
			"dash", "busybox-static", "redis-server", "mariadb-server", "galera-4", "gosu", "libc-bin", "bash",
			"coreutils", "findutils", "grep", "sed", "gawk", "util-linux", "hostname", "rsync",
		},
	}
	return entry, ledger, stores
}

// user is a command of a Dockerfile that adds a user and its group.
func user(name string, uid, gid int) string {
	return fmt.Sprintf("echo '%s:x:%d:%d::/:/bin/false' >> /etc/passwd && echo '%s:x:%d:' >> /etc/group",
		name, uid, gid, name, gid)
}

// standIns are all images that the stacks use, besides our own.
func standIns() []standIn {
	entry, ledger, stores := roots()
	database := []string{
		"RUN " + user("mysql", 999, 999) + " && mkdir -p /var/lib/mysql /var/lib/mysql-files" +
			" /var/run/mysqld /etc/mysql/conf.d" +
			" && chown mysql:mysql /var/lib/mysql /var/lib/mysql-files /var/run/mysqld",
		"VOLUME /var/lib/mysql", `ENTRYPOINT ["docker-entrypoint.sh"]`,
	}
	return []standIn{
		{
			name: "nginxinc/nginx-unprivileged", root: entry, note: "Debian's nginx",
			build: []string{
				"RUN " + user("nginx", 101, 101) + " && mkdir -p /var/log/nginx /var/lib/nginx" +
					" && ln -sf /dev/stderr /var/log/nginx/error.log && chown -R nginx /var/lib/nginx",
				"USER 101", `CMD ["nginx", "-g", "daemon off;"]`, "STOPSIGNAL SIGQUIT",
			},
		},
		{
			name: "prom/prometheus", root: entry, note: "Debian's Prometheus",
			build: []string{
				"RUN mkdir -p /prometheus && chown 65534:65534 /prometheus", "USER 65534", "VOLUME /prometheus",
				"WORKDIR /prometheus", `ENTRYPOINT ["/bin/prometheus"]`,
			},
		},
		{
			name: "prom/alertmanager", root: entry, note: "Debian's Alertmanager, without its pages",
			build: []string{
				"RUN ln -s prometheus-alertmanager /usr/bin/alertmanager && mkdir -p /alertmanager" +
					" && chown 65534:65534 /alertmanager",
				"USER 65534", "VOLUME /alertmanager", "WORKDIR /alertmanager", `ENTRYPOINT ["/bin/alertmanager"]`,
			},
		},
		{
			name: "grafana/grafana", root: entry, script: "grafana.sh",
			note: "no Grafana: answers its health check once it could read what is mounted",
			build: []string{
				"RUN mkdir -p /var/lib/grafana && chown 472:0 /var/lib/grafana", "USER 472",
				`ENTRYPOINT ["docker-entrypoint.sh"]`,
			},
		},
		{
			name: "mysql", root: ledger, script: "mysql.sh", note: "Debian's MySQL 9.7; a start script of ours",
			build: database,
		},
		{
			name: "mariadb", root: stores, script: "mysql.sh",
			note: "Debian's MariaDB 10.11 and Galera; a start script of ours",
			build: append([]string{
				"RUN rm -rf /var/run && ln -s /run /var/run && mkdir -p /etc/mysql /run/mysqld" +
					" && rm -f /etc/mysql/my.cnf && echo '!includedir /etc/mysql/conf.d/' > /etc/mysql/my.cnf",
			}, database...),
		},
		{
			name: "redis", root: stores, script: "redis.sh", note: "Debian's Redis 7.0",
			build: []string{
				"RUN " + user("redis", 999, 1000) + " && mkdir -p /data && chown redis:redis /data",
				"VOLUME /data", "WORKDIR /data", `ENTRYPOINT ["docker-entrypoint.sh"]`, `CMD ["redis-server"]`,
			},
		},
	}
}

// provide makes the stand-ins for the images, unless they are there.
func (e *engine) provide(ctx context.Context, images []string) error {
	for _, image := range images {
		name, _, _ := strings.Cut(image, ":")
		i := slices.IndexFunc(standIns(), func(s standIn) bool { return s.name == name })
		if i < 0 {
			return fmt.Errorf("nothing stands in for the image %s", image)
		}
		s := standIns()[i]
		if err := e.make(ctx, s, image); err != nil {
			return fmt.Errorf("image %s: %w", image, err)
		}
		e.say("%-36s %s", image, s.note)
	}
	return nil
}

// make makes the image of a stand-in, unless the one that is there is the same.
func (e *engine) make(ctx context.Context, s standIn, image string) error {
	dockerfile := []string{"FROM seckill-root:" + s.root.Name}
	dir, err := os.MkdirTemp(e.run, "image-")
	if err != nil {
		return err
	}
	if s.script != "" {
		text, err := scripts.ReadFile("images/" + s.script)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, "script.sh"), text, 0o755); err != nil {
			return err
		}
		dockerfile = append(dockerfile, "COPY script.sh /usr/local/bin/docker-entrypoint.sh",
			"# "+hex.EncodeToString(sum(string(text))))
	}
	text := strings.Join(append(dockerfile, s.build...), "\n") + "\n"
	key := hex.EncodeToString(sum(text))[:16]
	if e.has(ctx, image, key) {
		return nil
	}
	if err := e.root(ctx, s.root); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "Dockerfile"), []byte(text), 0o600); err != nil {
		return err
	}
	_, err = e.docker(ctx, "build", "--quiet", "--label", "seckill.key="+key, "--tag", image, dir)
	return err
}

// root imports an unpacked root, unless it is there.
func (e *engine) root(ctx context.Context, root server.Root) error {
	tag := "seckill-root:" + root.Name
	if _, err := e.docker(ctx, "image", "inspect", tag); err == nil {
		return nil
	}
	dir, err := root.Unpack(ctx)
	if err != nil {
		return err
	}
	const script = `mkdir -p "$1/etc" "$1/run" "$1/var" "$1/tmp" "$1/root"; chmod 1777 "$1/tmp"
printf 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n' > "$1/etc/passwd"
printf 'root:x:0:\nnogroup:x:65534:\n' > "$1/etc/group"
[ -e "$1/var/run" ] || ln -s /run "$1/var/run"
tar -C "$1" --exclude=./usr/share/doc --exclude=./usr/share/man --exclude=./usr/share/locale -c . |
docker import --change 'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' - "$2"`
	out, err := e.command(ctx, "bash", "-euo", "pipefail", "-c", script, "import", dir, tag).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// has reports whether an image is there that was made from the same lines.
func (e *engine) has(ctx context.Context, image, key string) bool {
	out, err := e.docker(ctx, "image", "inspect", "--format", `{{index .Config.Labels "seckill.key"}}`, image)
	return err == nil && strings.TrimSpace(out) == key
}

func sum(text string) []byte {
	s := sha256.Sum256([]byte(text))
	return s[:]
}

// goRoot is what the image golang has besides Go.
func goRoot() server.Root {
	return server.Root{
		Name: "golang-1", Suites: []string{"bookworm"},
		Packages: []string{"busybox-static", "ca-certificates", "libc-bin"},
	}
}

// golang makes the image in which the Dockerfile builds: the machine's own Go, with the modules that go.sum names.
func (e *engine) golang(ctx context.Context, image string) error {
	gosum, err := os.ReadFile("go.sum")
	if err != nil {
		return err
	}
	version, err := exec.CommandContext(ctx, "go", "version").Output()
	if err != nil {
		return err
	}
	key := hex.EncodeToString(sum(string(gosum) + string(version)))[:16]
	if e.has(ctx, image, key) {
		return nil
	}
	dir, err := os.MkdirTemp(e.run, "golang-")
	if err != nil {
		return err
	}
	root := goRoot()
	if err := e.root(ctx, root); err != nil {
		return err
	}
	script, err := scripts.ReadFile("images/golang.sh")
	if err != nil {
		return err
	}
	if out, err := e.command(ctx, "bash", "-c", string(script), "golang", dir).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	dockerfile := `FROM seckill-root:` + root.Name + `
COPY . /
ENV PATH=/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin GOPATH=/go GOTOOLCHAIN=local \
    GOPROXY=file:///goproxy GOSUMDB=off GOFLAGS=-mod=mod
`
	if err := os.WriteFile(filepath.Join(dir, "Dockerfile"), []byte(dockerfile), 0o600); err != nil {
		return err
	}
	_, err = e.docker(ctx, "build", "--quiet", "--label", "seckill.key="+key, "--tag", image, dir)
	return err
}
