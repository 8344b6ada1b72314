package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
)

// tamperer changes the requests and answers between loadgen and the service. Each field may be nil.
type tamperer struct {
	// before may answer instead of the service; then it returns true.
	before func(w http.ResponseWriter, r *http.Request) bool
	// after changes an answer. If it returns an empty body, the connection is cut instead.
	after func(r *http.Request, status int, body string) (int, string)
}

// through returns the address of a proxy to the service that applies the tamperer.
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
			_ = r.Body.Close() // the body was read completely
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
