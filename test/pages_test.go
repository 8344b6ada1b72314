package test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// TestPages: browsers are shown pages unless they are switched off, and demo buyers are made in the embedded mode alone, and
// only for its page.
func TestPages(t *testing.T) {
	t.Parallel()
	embedded := func(settings map[string]string) func(testing.TB) *server {
		return func(tb testing.TB) *server {
			settings["SECKILL_DATA_DIR"] = filepath.Join(tb.TempDir(), "data")
			srv := newServer(tb, "embedded", settings)
			if err := srv.start(); err != nil {
				tb.Fatal(err)
			}
			return srv
		}
	}
	for _, tt := range []struct {
		name       string
		open       func(testing.TB) *server
		page, demo int // statuses
	}{
		{"embedded", embedded(map[string]string{}), http.StatusOK, http.StatusCreated},
		{"embedded, switched off", embedded(map[string]string{"SECKILL_PAGES": "false"}), http.StatusNotFound, http.StatusNotFound},
		{"real", func(tb testing.TB) *server { return realSite(tb, 1).servers[0] }, http.StatusOK, http.StatusNotFound},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			srv, c := tt.open(t), newClient(t)
			page := c.must(t, tt.page, request{method: http.MethodGet, url: srv.url("/")})
			offered := strings.Contains(string(page.body), `<meta name="demo" content="yes">`)
			if offered != (tt.demo == http.StatusCreated) {
				t.Errorf("the page offers demo buyers: %v", offered)
			}
			c.must(t, tt.demo, request{method: http.MethodPost, url: srv.url("/demo/buyer")})
			c.must(t, http.StatusOK, request{method: http.MethodGet, url: srv.url("/voucher/list/1")})
		})
	}
}
