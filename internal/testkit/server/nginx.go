package server

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"

	"seckill/internal/testkit/freeport"
)

// Nginx is an nginx with its workers. Its methods are not safe for concurrent use.
type Nginx struct {
	Addr string // host:port
	Dir  string // the directory of its files
	proc *process
}

// StartNginx starts nginx. conf returns the configuration for a listening address and a directory for files.
func StartNginx(ctx context.Context, conf func(addr, dir string) string) (*Nginx, error) {
	path, err := Program(ctx, "nginx", "nginx")
	if err != nil {
		return nil, err
	}
	p, err := newProcess("nginx", path)
	if err != nil {
		return nil, err
	}
	n := &Nginx{Dir: p.dir.path, proc: p}
	// Workers of a root nginx would run as a user who cannot write to the directory.
	directives := "daemon off;"
	if os.Geteuid() == 0 {
		directives += " user root;"
	}
	file := filepath.Join(n.Dir, "nginx.conf")
	p.args = []string{"-p", n.Dir, "-e", "stderr", "-c", file, "-g", directives}
	err = onFreePort(ctx, func(port int) error {
		n.Addr = freeport.Addr(port)
		if err := os.WriteFile(file, []byte(conf(n.Addr, n.Dir)), 0o600); err != nil {
			return err
		}
		return p.start(ctx, n.ping)
	})
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	return n, nil
}

// ping returns nil if nginx answers HTTP.
func (n *Nginx) ping(ctx context.Context) error {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+n.Addr+"/", http.NoBody)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// Log returns nginx's standard error.
func (n *Nginx) Log() (string, error) {
	text, err := os.ReadFile(n.proc.logPath)
	return string(text), err
}

// Stop ends nginx and its workers immediately, without finishing requests.
func (n *Nginx) Stop() { n.proc.stop() }

// Close ends nginx if it still runs, and removes its directory.
func (n *Nginx) Close() error {
	n.Stop() // killing nginx would leave its workers
	return n.proc.close()
}
