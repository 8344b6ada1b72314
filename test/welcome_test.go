package test

import (
	"errors"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestWelcome: a server that was started with nothing configured prints what to try, and what it prints works.
func TestWelcome(t *testing.T) {
	t.Parallel()
	srv := newServer(t, "embedded", map[string]string{"SECKILL_DATA_DIR": filepath.Join(t.TempDir(), "data")})
	if err := srv.start(); err != nil {
		t.Fatal(err)
	}
	purchase := regexp.MustCompile(`(?m)^ *curl -X POST (\S+) -H "Authorization: (Bearer \S+)"$`)
	var line []string
	eventually(t, "the line to try", func() error {
		if line = purchase.FindStringSubmatch(srv.log.String()); line == nil {
			return errors.New("not printed")
		}
		return nil
	})
	if !strings.Contains(strings.ToLower(srv.log.String()), "embedded") {
		t.Errorf("it does not say that it is the embedded mode:\n%s", srv.log)
	}
	c := newClient(t)
	r := c.must(t, http.StatusCreated, request{method: http.MethodPost, url: line[1], header: map[string]string{"Authorization": line[2]}})
	if placed := decode[placedJSON](t, r); placed.OrderID == "" || placed.Status != "unpaid" {
		t.Errorf("buying as printed: %s, want an order that is recorded", r.body)
	}
	list := c.must(t, http.StatusOK, request{method: http.MethodGet, url: srv.url("/voucher/list/1")})
	if vouchers := decode[[]voucherJSON](t, list); len(vouchers) != 1 || vouchers[0].SaleState != "on_sale" {
		t.Errorf("shop 1 shows %s, want the one demonstration sale", list.body)
	}
	// The second start finds it: it does not make another.
	if _, err := srv.terminate(); err != nil {
		t.Fatal(err)
	}
	if err := srv.start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the second welcome", func() error {
		if n := len(purchase.FindAllString(srv.log.String(), -1)); n != 2 {
			return errors.New("not printed")
		}
		return nil
	})
	list = c.must(t, http.StatusOK, request{method: http.MethodGet, url: srv.url("/voucher/list/1")})
	if vouchers := decode[[]voucherJSON](t, list); len(vouchers) != 1 {
		t.Errorf("after a restart shop 1 shows %s, want the one demonstration sale", list.body)
	}
}
