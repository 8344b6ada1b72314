package test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"seckill/internal/kit/trace"
	"seckill/internal/testkit"
	"seckill/internal/testkit/server"
	"seckill/test/box"
)

// hook is a webhook as its receiver gets it.
type hook struct {
	ID     string
	Parent trace.Parent
	Body   struct {
		Type   string `json:"type"`
		Parent string `json:"traceparent"`
	}
}

// TestTraces follows a purchase from the traceparent that nginx gives it to the log line of its request, the one of its
// row, whichever instance writes it, and its webhook. A purchase that nginx does not have followed leaves no trace.
func TestTraces(t *testing.T) {
	t.Parallel()
	s, hooks := tracedSite(t), make(chan hook, 16)
	to := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		h := hook{ID: r.Header.Get("Webhook-Id"), Parent: trace.Parse(r.Header.Get("Traceparent"))}
		text, err := io.ReadAll(r.Body)
		if err == nil {
			err = json.Unmarshal(text, &h.Body)
		}
		if err != nil {
			t.Error(err)
		}
		hooks <- h
	}))
	t.Cleanup(to.Close)
	s.Client.Must(t, http.StatusCreated, box.Request{
		Method: http.MethodPost, URL: s.URL("/admin/webhook"), Token: box.AdminToken(),
		Body: map[string]any{"shopId": 0, "url": to.URL, "types": "order.unpaid"},
	})
	for _, srv := range s.Servers { // they look for new endpoints once a second
		if err := srv.KillAndStart(); err != nil {
			t.Fatal(err)
		}
	}
	voucher := s.CreateSale(t, 10, time.Now().Add(time.Hour))
	strangers := "00-" + strings.Repeat("5", 32) + "-" + strings.Repeat("5", 16) + "-01"
	followed, plain := entryBefore(t, s.Servers[0], ` 100% 1;`), entryBefore(t, s.Servers[0], ` 100% "";`)
	for name, tc := range map[string]struct {
		user int64
		addr string
		want bool
	}{"followed": {1, followed, true}, "not followed": {2, plain, false}} {
		r := s.Client.Must(t, http.StatusCreated, box.Request{
			Method: http.MethodPost, URL: fmt.Sprintf("http://%s/voucher/seckill/%d?wait=30s", tc.addr, voucher),
			Token:  box.BuyerToken(tc.user),
			Header: map[string]string{"Traceparent": strangers},
		})
		order := box.Decode[box.Placed](t, r).OrderID
		var h hook
		select {
		case h = <-hooks:
		case <-time.After(time.Minute):
			t.Fatalf("%s: no webhook comes", name)
		}
		id := h.Parent.ID()
		if h.ID != "order-"+order+"-1" || h.Body.Type != "order.unpaid" || (id != "") != tc.want ||
			trace.Parse(h.Body.Parent).ID() != id || tc.want && h.Body.Parent == string(h.Parent) ||
			strings.HasPrefix(id, "55") {
			t.Errorf("%s: order %s, webhook %+v", name, order, h)
		}
		for message, of := range map[string]string{
			"request": `"location":"/order/` + order + `"`, "an order is recorded": `"order":` + order + `,`,
			"a webhook event is sent": `"event":"` + h.ID + `"`,
		} {
			if tc.want {
				box.Eventually(t, "the line: "+message, func() error { return logged(s, message, of, id) })
			} else if err := logged(s, message, of, ""); err == nil {
				t.Errorf("%s: the log has %q of order %s", name, message, order)
			}
		}
	}
}

// logged returns nil if some instance has logged a line with the message, a member, and the trace.
func logged(s *box.Site, message, member, id string) error {
	for _, srv := range s.Servers {
		for line := range strings.Lines(srv.Log.String()) {
			if strings.Contains(line, `"msg":"`+message+`"`) && strings.Contains(line, member) &&
				strings.Contains(line, `"trace_id":"`+id) {
				return nil
			}
		}
	}
	return fmt.Errorf("no line %q with %s of trace %s", message, member, id)
}

// tracedSite starts two instances that follow what is to be followed.
func tracedSite(t *testing.T) *box.Site {
	t.Helper()
	_, prefix := testkit.Redis(t)
	addr, dsn := testkit.RedisAddr(t), testkit.MySQL(t)
	s := box.EmptySite(t, addr, prefix, dsn)
	for range 2 {
		s.Add(t, addr, dsn, map[string]string{
			"SECKILL_TRACES": "true", "SECKILL_LOG_FORMAT": "json", "SECKILL_WEBHOOK_ALLOW": "127.0.0.0/8",
		})
	}
	s.Start(t)
	return s
}

// entryBefore starts nginx, with the configuration of the compose stack, in front of an instance. It returns its
// address. share is a line of split_clients: how many requests it has followed.
func entryBefore(t *testing.T, srv *box.Server, share string) (addr string) {
	t.Helper()
	text, err := os.ReadFile("../deploy/nginx/nginx.conf")
	if err != nil {
		t.Fatal(err)
	}
	n, err := server.StartNginx(t.Context(), func(addr, dir string) string {
		for name, text := range map[string]string{
			"trusted-proxies.conf": "", "instances.conf": "server " + srv.Addr + ";\n",
		} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		conf := string(text)
		for _, change := range [][2]string{
			{`listen 8080 `, "listen " + addr + " "},
			{`(?m)^    resolver .*\n`, ""},
			{` /tmp/`, " " + dir + "/"},
			{`/etc/nginx/`, dir + "/"},
			{`(?m)^worker_rlimit_nofile .*\n`, ""},
			{` 1%  1;`, share},
		} {
			found := regexp.MustCompile(change[0])
			if !found.MatchString(conf) {
				t.Fatalf("nginx.conf has nothing like %q", change[0])
			}
			conf = found.ReplaceAllLiteralString(conf, change[1])
		}
		return conf
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Close() }) // it only forwarded requests
	return n.Addr
}
