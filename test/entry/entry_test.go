package entry

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"seckill/internal/testkit/server"
)

// entry is an nginx with the configuration of the compose stack.
type entry struct {
	t     *testing.T
	nginx *server.Nginx
}

// change replaces the match of a pattern, which the configuration must contain.
type change struct{ pattern, by string }

// start starts nginx in front of an instance. trusted is the content of trusted-proxies.conf.
func start(t *testing.T, instance http.Handler, trusted string, more ...change) *entry {
	t.Helper()
	behind := httptest.NewServer(instance)
	t.Cleanup(behind.Close)
	return startBefore(t, behind.Listener.Addr().String(), trusted, more...)
}

// startBefore starts nginx in front of an instance at an address.
func startBefore(t *testing.T, instance, trusted string, more ...change) *entry {
	t.Helper()
	text, err := os.ReadFile("../../deploy/nginx/nginx.conf")
	if err != nil {
		t.Fatal(err)
	}
	n, err := server.StartNginx(t.Context(), func(addr, dir string) string {
		for name, text := range map[string]string{
			"trusted-proxies.conf": trusted, "instances.conf": "server " + instance + " max_fails=2 fail_timeout=2s;\n",
		} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		conf := string(text)
		for _, c := range append([]change{
			{`listen 8080 `, "listen " + addr + " "},
			{`(?m)^    resolver .*\n`, ""},
			{` /tmp/`, " " + dir + "/"},
			{`/etc/nginx/`, dir + "/"},
			{`(?m)^worker_rlimit_nofile .*\n`, ""}, // this machine may allow fewer
			{`worker_processes auto`, "worker_processes 2"},
		}, more...) {
			pattern := regexp.MustCompile(c.pattern)
			if !pattern.MatchString(conf) {
				t.Fatalf("nginx.conf has nothing like %q", c.pattern)
			}
			conf = pattern.ReplaceAllLiteralString(conf, c.by)
		}
		return conf
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	return &entry{t, n}
}

// dial connects from an address of this machine, with a deadline of a minute.
func (e *entry) dial(from string) (net.Conn, error) {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	c, err := d.DialContext(e.t.Context(), "tcp", e.nginx.Addr)
	if err != nil {
		return nil, err
	}
	return c, c.SetDeadline(time.Now().Add(time.Minute))
}

// send connects from an address and sends a text, which may be part of a request. The end of the test closes the
// connection.
func (e *entry) send(from, text string) net.Conn {
	e.t.Helper()
	c, err := e.dial(from)
	if err != nil {
		e.t.Fatal(err)
	}
	e.t.Cleanup(func() { _ = c.Close() })
	if _, err := io.WriteString(c, text); err != nil {
		e.t.Fatal(err)
	}
	return c
}

// answer is an answer of the entry.
type answer struct {
	status int
	header http.Header
	body   string
}

// read reads an answer.
func read(c net.Conn) (answer, error) {
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return answer{}, err
	}
	body, err := io.ReadAll(res.Body)
	_ = res.Body.Close() // the body was read
	return answer{res.StatusCode, res.Header, string(body)}, err
}

// ask sends a request on a new connection and reads the answer.
func (e *entry) ask(from, text string) answer {
	e.t.Helper()
	a, err := read(e.send(from, text))
	if err != nil {
		e.t.Fatalf("no answer to %.80q: %v", text, err)
	}
	return a
}

// request writes a request without a body.
func request(method, path string, headers ...string) string {
	return method + " " + path + " HTTP/1.1\r\nHost: shop\r\n" + strings.Join(append(headers, ""), "\r\n") + "\r\n"
}

// isProblem fails the test unless the answer is nginx's own problem document with that status and code.
func (a answer) isProblem(t *testing.T, status int, code string) {
	t.Helper()
	var document struct {
		Code   string
		Status int
	}
	if err := json.Unmarshal([]byte(a.body), &document); err != nil || a.status != status || document.Code != code ||
		document.Status != status || a.header.Get("X-Request-Id") == "" {
		t.Errorf("answered %d %v %s, want %d %s", a.status, a.header, a.body, status, code)
	}
}

// instance answers every request once it has read it, and reports the caller's address. Requests for /held wait until
// hold is closed.
func instance(hold <-chan struct{}) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		if err != nil {
			return
		}
		if r.URL.Path == "/held" {
			<-hold
		}
		w.Header().Set("X-Read", http.StatusText(http.StatusOK))
		_ = json.NewEncoder(w).Encode(map[string]any{"caller": r.Header.Get("X-Forwarded-For"), "body": n})
	})
}
