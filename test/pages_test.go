package test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"seckill/test/box"
)

// TestPages checks that the pages are served unless they are switched off, and that demo buyers exist only in the
// embedded mode with pages.
func TestPages(t *testing.T) {
	t.Parallel()
	embedded := func(settings map[string]string) func(testing.TB) *box.Server {
		return func(tb testing.TB) *box.Server {
			settings["SECKILL_DATA_DIR"] = filepath.Join(tb.TempDir(), "data")
			srv := box.NewServer(tb, "embedded", settings)
			if err := srv.Start(); err != nil {
				tb.Fatal(err)
			}
			return srv
		}
	}
	for _, tt := range []struct {
		name       string
		open       func(testing.TB) *box.Server
		page, demo int // statuses
	}{
		{"embedded", embedded(map[string]string{}), http.StatusOK, http.StatusCreated},
		{
			"embedded, switched off", embedded(map[string]string{"SECKILL_PAGES": "false"}),
			http.StatusNotFound, http.StatusNotFound,
		},
		{
			"real", func(tb testing.TB) *box.Server { return box.RealSite(tb, 1).Servers[0] },
			http.StatusOK, http.StatusNotFound,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			srv, c := tt.open(t), box.NewClient(t)
			page := c.Must(t, tt.page, box.Request{Method: http.MethodGet, URL: srv.URL("/")})
			offered := strings.Contains(string(page.Body), `<meta name="demo" content="yes">`)
			if offered != (tt.demo == http.StatusCreated) {
				t.Errorf("the page offers demo buyers: %v", offered)
			}
			c.Must(t, tt.demo, box.Request{Method: http.MethodPost, URL: srv.URL("/demo/buyer")})
			c.Must(t, http.StatusOK, box.Request{Method: http.MethodGet, URL: srv.URL("/voucher/list/1")})
		})
	}
}
