package main

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"seckill/internal/httpapi/httpkit"
)

// A service below a path is asked with it and without, by proxies that keep it and that strip it.
func TestBelow(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ base, path, want string }{
		{"", "/voucher/7", "/voucher/7"},
		{"/flash", "/flash/voucher/7", "/voucher/7"},
		{"/flash", "/voucher/7", "/voucher/7"},
		{"/flash", "/flash/shop/7", "/shop/7"},
		{"/flash", "/shop/7", "/shop/7"},
		{"/shop", "/shop/voucher/7", "/voucher/7"},
		{"/shop", "/shop/shop/7", "/shop/7"},
		{"/shop", "/shop/7", "/shop/7"}, // stripped
		{"/shop", "/shop/", "/"},
		{"/shop", "/shop/7/x", "/7/x"},
	} {
		got := ""
		service := below(tt.base, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.URL.Path }))
		service.ServeHTTP(httptest.NewRecorder(),
			httptest.NewRequestWithContext(t.Context(), http.MethodGet, tt.path, nil))
		if got != tt.want {
			t.Errorf("below %q, %s is served as %q, want %q", tt.base, tt.path, got, tt.want)
		}
	}
}

// A base that begins as a path of the service does is refused, but for /shop, which has none but a number behind it.
func TestCheckBase(t *testing.T) {
	t.Parallel()
	routes := []httpkit.Route{{Path: "/voucher/:id"}, {Path: "/shop/:id"}}
	for base, good := range map[string]bool{
		"": true, "/flash": true, "/shop": true, "/voucher": false, "/shop/voucher": false, "/assets": false,
		"/docs/x": false,
	} {
		if err := checkBase(base, routes); (err == nil) != good {
			t.Errorf("%q: %v", base, err)
		}
	}
}
