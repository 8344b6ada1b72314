package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// secret signs the tokens of these tests.
const secret = "loadgen-tests-0123456789-abcdefghij-KLMNOPQRST"

// service builds the real server, starts it in the embedded mode and returns its address. It is killed when the test ends.
func service(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "server")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", binary, "seckill/cmd/server") // as make build, so that its work is used again
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the server: %v\n%s", err, out)
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	_ = l.Close() // only a free address is wanted
	var log bytes.Buffer
	cmd := exec.CommandContext(t.Context(), binary)
	cmd.Env = []string{
		"SECKILL_HTTP_ADDR=" + addr, "SECKILL_OPS_ADDR=off", "SECKILL_JWT_SECRET=" + secret,
		"SECKILL_DATA_DIR=" + filepath.Join(t.TempDir(), "data"),
	}
	cmd.Stdout, cmd.Stderr = &log, &log
	if err = cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // how it ends is of no interest
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("the server's log:\n%s", log.String())
		}
	})
	awaitReady(t, addr)
	return "http://" + addr
}

// awaitReady asks until the service answers that it is ready and shows its demonstration sale, which is voucher 1 then.
func awaitReady(t *testing.T, addr string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Second}
	says := func(path, what string) bool {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			return false
		}
		defer func() { _ = resp.Body.Close() }() // read to its end below
		body, err := io.ReadAll(resp.Body)
		return err == nil && resp.StatusCode == http.StatusOK && strings.Contains(string(body), what)
	}
	for deadline := time.Now().Add(45 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if says("/readyz", "") && says("/voucher/list/1", `"total":1`) {
			return
		}
	}
	t.Fatal("the server does not become ready")
}

// tamperer stands between loadgen and the service. Each field may be nil.
type tamperer struct {
	// before answers instead of the service, and says whether it did.
	before func(w http.ResponseWriter, r *http.Request) bool
	// after changes an answer; no body: the connection is cut instead.
	after func(r *http.Request, status int, body string) (int, string)
}

// through returns the address of a proxy before the service, with the tamperer in it.
func through(t *testing.T, service string, by tamperer) string {
	t.Helper()
	target, err := url.Parse(service)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	proxy := &httputil.ReverseProxy{
		Transport: transport,
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ModifyResponse: func(r *http.Response) error {
			if by.after == nil {
				return nil
			}
			body, err := io.ReadAll(r.Body)
			_ = r.Body.Close() // read to its end
			if err != nil {
				return err
			}
			status, changed := by.after(r.Request, r.StatusCode, string(body))
			if changed == "" {
				panic(http.ErrAbortHandler)
			}
			r.StatusCode, r.ContentLength = status, int64(len(changed))
			r.Header.Set("Content-Length", fmt.Sprint(len(changed)))
			r.Body = io.NopCloser(strings.NewReader(changed))
			return nil
		},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if by.before == nil || !by.before(w, r) {
			proxy.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(func() {
		server.Close()
		transport.CloseIdleConnections()
	})
	return server.URL
}
