package server

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"seckill/internal/testkit/freeport"
)

const (
	// galeraLibrary is the library's path in Debian's package.
	galeraLibrary = "/usr/lib/galera/libgalera_smm.so"
	// galeraPatience is how long a node may take to join, which includes copying everything from another node.
	galeraPatience = 2 * time.Minute
)

// Galera is a cluster of mariadbd processes that all accept writes. A restarted node copies the writes that it
// has missed from another one.
type Galera struct {
	Nodes   []*MariaDB
	Version string // of MariaDB, and of the library
}

// StartGalera starts a cluster of nodes on 127.0.0.1, one after the other, with a shared configuration file. If the
// programs are not available, the error says so.
func StartGalera(ctx context.Context, nodes int, conf string) (*Galera, error) {
	scripts, err := galeraPrograms(ctx)
	if err != nil {
		return nil, fmt.Errorf("a Galera cluster could not be had: %w", err)
	}
	ports, err := galeraPorts(ctx, nodes)
	if err != nil {
		return nil, err
	}
	shared, err := os.ReadFile(filepath.Clean(conf))
	if err != nil {
		return nil, err
	}
	g, password := &Galera{}, rand.Text()
	for i := range nodes {
		join := func(m *MariaDB) error { return m.joinGalera(i, ports, scripts, password, shared) }
		m, err := startMariaDB(ctx, join, nil)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("node %d of a Galera cluster: %w; %s", i+1, err, g.logs()), g.Close())
		}
		m.proc.args = slices.DeleteFunc(m.proc.args, founds) // a restart joins the other nodes
		g.Nodes = append(g.Nodes, m)
	}
	if g.Version, err = g.version(ctx); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

// Close kills all nodes and removes their directories.
func (g *Galera) Close() error {
	var errs []error
	for _, m := range g.Nodes {
		errs = append(errs, m.Close())
	}
	return errors.Join(errs...)
}

// Size returns the number of nodes in a node's cluster, as that node sees it.
func (g *Galera) Size(ctx context.Context, node int) (int, error) {
	size, err := statusOf(ctx, g.Nodes[node].DSN(""), "wsrep_cluster_size")
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(size)
}

// logs returns the ends of all nodes' logs: the reason why a node cannot join is often in another node's log.
func (g *Galera) logs() string {
	var text strings.Builder
	for i, m := range g.Nodes {
		fmt.Fprintf(&text, "log of node %d: %s\n", i+1, m.proc.logTail())
	}
	return text.String()
}

// version returns the versions of the cluster's programs, and checks that all nodes have joined.
func (g *Galera) version(ctx context.Context) (string, error) {
	library, err := statusOf(ctx, g.Nodes[0].DSN(""), "wsrep_provider_version")
	if err != nil {
		return "", err
	}
	size, err := g.Size(ctx, 0)
	if err == nil && size != len(g.Nodes) {
		err = fmt.Errorf("the Galera cluster has %d nodes, not %d", size, len(g.Nodes))
	}
	library, _, _ = strings.Cut(library, "(") // cuts the revision, which Debian lacks
	return g.Nodes[0].Version + " with Galera " + library, err
}

// joinGalera adds the options of a Galera node, with the ports of all nodes, to a server's command line, and gives it
// the shared configuration. The first node creates the database user.
func (m *MariaDB) joinGalera(node int, ports [][3]int, scripts, password string, shared []byte) error {
	members := make([]string, 0, len(ports))
	for _, p := range ports {
		members = append(members, freeport.Addr(p[0]))
	}
	group, missed, all := freeport.Addr(ports[node][0]), freeport.Addr(ports[node][1]), freeport.Addr(ports[node][2])
	conf := filepath.Join(m.Dir, "galera.cnf") // a copy that the node's user can read
	if err := os.WriteFile(conf, shared, 0o600); err != nil {
		return err
	}
	m.proc.args[0] = "--defaults-file=" + conf // replaces --no-defaults
	m.proc.args = append(m.proc.args, "--wsrep-cluster-address=gcomm://"+strings.Join(members, ","),
		fmt.Sprintf("--wsrep-node-name=node-%d", node+1),
		"--wsrep-node-address="+group, "--wsrep-sst-receive-address="+all,
		fmt.Sprintf(
			"--wsrep-provider-options=gmcast.listen_addr=tcp://%s;ist.recv_addr=%s;base_port=%d;gcache.size=32M",
			group, missed, ports[node][0]))
	m.password, m.proc.patience = password, galeraPatience
	if node == 0 {
		m.proc.args = append(m.proc.args, "--wsrep-new-cluster")
		if _, err := m.writeInitFile(); err != nil {
			return err
		}
	} else {
		m.proc.args = slices.DeleteFunc(m.proc.args, founds)
	}
	bin := filepath.Join(m.Dir, "bin") // a copy, as the node's user may not read the cache
	if err := os.RemoveAll(bin); err != nil {
		return err
	}
	if err := os.CopyFS(bin, os.DirFS(scripts)); err != nil {
		return err
	}
	m.proc.env = []string{"PATH=" + strings.Join([]string{bin, os.Getenv("PATH"), "/usr/sbin", "/sbin"}, ":")}
	return m.runAsNobody()
}

// founds reports whether an argument is only for the start that founds the cluster.
func founds(arg string) bool {
	return arg == "--wsrep-new-cluster" || strings.HasPrefix(arg, "--init-file=")
}

// runAsNobody runs the server as the user nobody if this process is root, because the rsync daemon of a root node may
// not write to the node's directory. It does not use --user: a process that changes its user loses its parent death
// signal.
func (m *MariaDB) runAsNobody() error {
	if os.Geteuid() != 0 {
		return nil
	}
	nobody, err := user.Lookup("nobody")
	if err != nil {
		return err
	}
	uid, errUID := strconv.ParseUint(nobody.Uid, 10, 32)
	gid, errGID := strconv.ParseUint(nobody.Gid, 10, 32)
	if err := errors.Join(errUID, errGID); err != nil {
		return err
	}
	m.proc.args = slices.DeleteFunc(m.proc.args, func(arg string) bool { return arg == "--user=root" })
	m.proc.credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return filepath.WalkDir(m.Dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, int(uid), int(gid))
	})
}

// galeraPorts returns three free ports for each node: for group communication, incremental and full state transfer.
func galeraPorts(ctx context.Context, nodes int) (ports [][3]int, err error) {
	for range nodes {
		var p [3]int
		for i := range p {
			if p[i], err = freeport.Take(ctx); err != nil {
				return nil, err
			}
		}
		ports = append(ports, p)
	}
	return ports, nil
}

// galeraPrograms installs what a Galera cluster needs besides mariadbd, and returns the directory with the scripts that
// copy data between nodes.
func galeraPrograms(ctx context.Context) (scripts string, err error) {
	look := func() bool {
		_, err := os.Stat(galeraLibrary)
		return err == nil && find("rsync") != "" && find("lsof", "ss") != ""
	}
	if err := ensure(ctx, look, []string{"galera-4", "rsync", "lsof"}); err != nil {
		return "", fmt.Errorf(
			"galera-4, rsync or lsof is %w; install them (Debian: apt-get install galera-4 rsync lsof)", err)
	}
	daemon, _, err := mariaDBPrograms(ctx)
	if err != nil {
		return "", err
	}
	_, version, err := describe(ctx, daemon)
	if err != nil {
		return "", err
	}
	root, err := unpackOnce(ctx, "wsrep-scripts-"+version, unpackScripts)
	if err != nil {
		return "", fmt.Errorf("mariadb-server, which has the scripts wsrep_sst_*, is %w", err)
	}
	return filepath.Join(root, "usr", "bin"), nil
}

// unpackScripts unpacks the system's own package with the scripts, without its dependencies: installing the whole
// server would add a system service.
func unpackScripts(ctx context.Context, apt, dir string) error {
	cmd := exec.CommandContext(ctx, apt, "download", "-q", "-o", "APT::Sandbox::User=", "mariadb-server")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("apt-get download mariadb-server: %w: %s", err, tail(out, 600))
	}
	return unpack(ctx, dir, filepath.Join(dir, "root"))
}

// statusOf returns a status variable of the server.
func statusOf(ctx context.Context, dsn, name string) (value string, err error) {
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		return "", err
	}
	err = db.QueryRowContext(ctx, "SHOW STATUS LIKE '"+name+"'").Scan(&name, &value)
	return value, errors.Join(err, db.Close())
}
