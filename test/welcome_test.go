package test

import (
	"errors"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"seckill/test/box"
)

// TestWelcome checks that a server without configuration prints a command to try, and that the command works.
func TestWelcome(t *testing.T) {
	t.Parallel()
	srv := box.NewServer(t, "embedded", map[string]string{"SECKILL_DATA_DIR": filepath.Join(t.TempDir(), "data")})
	if err := srv.Start(); err != nil {
		t.Fatal(err)
	}
	purchase := regexp.MustCompile(`(?m)^ *curl -X POST (\S+) -H "Authorization: (Bearer \S+)"$`)
	var line []string
	box.Eventually(t, "the command to try", func() error {
		if line = purchase.FindStringSubmatch(srv.Log.String()); line == nil {
			return errors.New("not printed")
		}
		return nil
	})
	if !strings.Contains(strings.ToLower(srv.Log.String()), "embedded") {
		t.Errorf("it does not mention the embedded mode:\n%s", srv.Log)
	}
	for _, place := range []string{"the shop       " + srv.URL(""), "the console    " +
		srv.URL("/admin#sign-in="), "the interface  " + srv.URL("/docs")} {
		if !strings.Contains(srv.Log.String(), place) {
			t.Errorf("the welcome does not name %q:\n%s", place, srv.Log)
		}
	}
	c := box.NewClient(t)
	r := c.Must(t, http.StatusCreated,
		box.Request{Method: http.MethodPost, URL: line[1], Header: map[string]string{"Authorization": line[2]}})
	if placed := box.Decode[box.Placed](t, r); placed.OrderID == "" || placed.Status != "unpaid" {
		t.Errorf("buying as printed: %s, want an order that is recorded", r.Body)
	}
	list := c.Must(t, http.StatusOK, box.Request{Method: http.MethodGet, URL: srv.URL("/voucher/list/1")})
	var states []string
	for _, v := range box.Decode[[]box.Voucher](t, list) {
		states = append(states, v.SaleState)
	}
	slices.Sort(states)
	if want := []string{"", "not_started", "on_sale"}; !slices.Equal(states, want) {
		t.Errorf("shop 1 shows %s, want a sale that is on, one that is to come, and an ordinary voucher", list.Body)
	}
	signsInOnce(t, c, srv)
	signsInATill(t, c, srv)
	// The second start finds the demonstration vouchers and creates no others.
	if _, err := srv.Terminate(); err != nil {
		t.Fatal(err)
	}
	if err := srv.Start(); err != nil {
		t.Fatal(err)
	}
	box.Eventually(t, "the second welcome", func() error {
		if n := len(purchase.FindAllString(srv.Log.String(), -1)); n != 2 {
			return errors.New("not printed")
		}
		return nil
	})
	list = c.Must(t, http.StatusOK, box.Request{Method: http.MethodGet, URL: srv.URL("/voucher/list/1")})
	if vouchers := box.Decode[[]box.Voucher](t, list); len(vouchers) != len(states) {
		t.Errorf("after a restart shop 1 shows %s, want what it showed before", list.Body)
	}
}

// signsInATill runs the command that the server has printed for a till's token, and checks that the token is a till's.
func signsInATill(t *testing.T, c *box.Client, srv *box.Server) {
	t.Helper()
	command := regexp.MustCompile(`its token: (\S+) (token [^)]+)\)`).FindStringSubmatch(srv.Log.String())
	if len(command) == 0 || command[1] != box.Binary(t) {
		t.Fatalf("no command for a till's token, %q:\n%s", command, srv.Log)
	}
	token := strings.TrimSpace(box.Command(t, srv.Settings, strings.Fields(command[2])...).Stdout)
	validate := box.Request{
		Method: http.MethodPost, URL: srv.URL("/till/validate"), Token: token,
		Body: map[string]string{"code": "0000-0000-0000-0000"},
	}
	if r := c.Must(t, http.StatusNotFound, validate); !strings.Contains(string(r.Body), "COUPON") {
		t.Errorf("the till is answered %s, want that there is no such coupon", r.Body)
	}
}

// signsInOnce follows the sign-in link that the server has printed: only its first user becomes an admin.
func signsInOnce(t *testing.T, c *box.Client, srv *box.Server) {
	t.Helper()
	link := regexp.MustCompile(`/admin#sign-in=(\w+)`).FindStringSubmatch(srv.Log.String())
	if link == nil {
		t.Fatalf("no sign-in link:\n%s", srv.Log)
	}
	use := box.Request{Method: http.MethodPost, URL: srv.URL("/demo/admin"), Body: map[string]string{"code": link[1]}}
	admin := box.Decode[struct{ Token string }](t, c.Must(t, http.StatusCreated, use))
	c.Must(t, http.StatusOK, box.Request{
		Method: http.MethodGet, URL: srv.URL("/admin/voucher"), Header: map[string]string{"Authorization": admin.Token},
	})
	c.Must(t, http.StatusUnauthorized, use)
}
