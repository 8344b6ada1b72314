package browser

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"seckill/internal/testkit"
	"seckill/test/box"
)

// admin is the user with whose token the tests manage shops.
const admin = 1

// shop is a running service.
type shop struct {
	tb     testing.TB
	server *box.Server
	admins string // the admins' secret
}

// embeddedShop returns a service with only a data directory, which has its demonstration sale.
func embeddedShop(tb testing.TB) *shop {
	tb.Helper()
	return start(tb,
		map[string]string{"SECKILL_DATA_DIR": filepath.Join(tb.TempDir(), "data"), "SECKILL_JWT_SECRET": box.Secret})
}

// realShop returns a service on real stores, without vouchers. more is a list of settings: names and values
// alternately.
func realShop(tb testing.TB, more ...string) *shop {
	tb.Helper()
	_, prefix := testkit.Redis(tb)
	settings := map[string]string{
		"SECKILL_REDIS_ADDRS": testkit.RedisAddr(tb), "SECKILL_REDIS_PREFIX": prefix,
		"SECKILL_MYSQL_DSN":  testkit.MySQL(tb),
		"SECKILL_JWT_SECRET": box.Secret, "SECKILL_PAYMENT_PROVIDER": "sandbox", "SECKILL_PAYMENT_SECRET": box.Secret,
	}
	for i := 0; i < len(more); i += 2 {
		settings[more[i]] = more[i+1]
	}
	return start(tb, settings)
}

// start starts a service and waits until it is ready to sell.
func start(tb testing.TB, settings map[string]string) *shop {
	tb.Helper()
	s := &shop{tb, box.NewServer(tb, "shop", settings), cmp.Or(settings["SECKILL_JWT_ADMIN_SECRET"], box.Secret)}
	if err := s.server.Start(); err != nil {
		tb.Fatal(err)
	}
	return s
}

// url returns the address of a path.
func (s *shop) url(path string) string { return s.server.URL(path) }

// token returns a user's token; admin's has the admin role.
func (s *shop) token(user int64) string {
	if user == admin {
		return box.Sign(s.admins, box.Claims(user, "admin"))
	}
	return box.BuyerToken(user)
}

// ask sends a request as a user (0: without a token) and returns the status and the data of the answer.
func (s *shop) ask(method, path string, user int64, body any) (status int, data json.RawMessage) {
	s.tb.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		s.tb.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.tb.Context()), patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, s.url(path), bytes.NewReader(text))
	if err != nil {
		s.tb.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Idempotency-Key", strconv.FormatInt(time.Now().UnixNano(), 10))
	if user != 0 {
		request.Header.Set("Authorization", s.token(user))
	}
	request.Close = true
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		s.tb.Fatal(err)
	}
	defer answer.Body.Close()
	whole, err := io.ReadAll(answer.Body)
	if err != nil {
		s.tb.Fatal(err)
	}
	var envelope struct{ Data json.RawMessage }
	_ = json.Unmarshal(whole, &envelope) // without an envelope there is no data
	return answer.StatusCode, envelope.Data
}

// must is ask for requests that have to succeed. It retries while the service is busy.
func (s *shop) must(method, path string, user int64, body, data any) {
	s.tb.Helper()
	status, got := s.ask(method, path, user, body)
	for deadline := time.Now().Add(patience); status == http.StatusServiceUnavailable && time.Now().Before(deadline); {
		time.Sleep(200 * time.Millisecond)
		status, got = s.ask(method, path, user, body)
	}
	if status >= http.StatusMultipleChoices {
		s.tb.Fatalf("%s %s: %d", method, path, status)
	}
	if data == nil {
		return
	}
	if err := json.Unmarshal(got, data); err != nil {
		s.tb.Fatalf("%s %s: %s: %v", method, path, got, err)
	}
}

// code returns the code of an order's coupon. The answer is without it, and stale, if the ledger does not answer soon.
func (s *shop) code(order string, user int64) string {
	s.tb.Helper()
	var o struct{ Coupon struct{ Code string } }
	box.Eventually(s.tb, "the coupon of order "+order, func() error {
		if s.must(http.MethodGet, "/order/"+order, user, nil, &o); o.Coupon.Code == "" {
			return errors.New("it has no code")
		}
		return nil
	})
	return o.Coupon.Code
}

// offer creates a sale, and returns its voucher once the shop shows the sale in the state.
func (s *shop) offer(title string, stock int64, begin, end time.Time, state string) int64 {
	s.tb.Helper()
	var made struct{ ID int64 }
	s.must(http.MethodPost, "/voucher/seckill", admin, map[string]any{
		"shopId": 1, "title": title, "subTitle": "In the old town", "payValue": 1000, "actualValue": 5000,
		"rules": "One to a person. Not together with other offers.", "stock": stock, "beginTime": begin, "endTime": end,
	}, &made)
	s.awaitState(made.ID, state)
	return made.ID
}

// awaitState waits until the shop shows a sale in a state.
func (s *shop) awaitState(voucher int64, state string) {
	s.tb.Helper()
	box.Eventually(s.tb, fmt.Sprintf("voucher %d becoming %s", voucher, state), func() error {
		var shown struct{ SaleState string }
		if s.must(http.MethodGet, fmt.Sprintf("/voucher/%d", voucher), 0, nil, &shown); shown.SaleState != state {
			return fmt.Errorf("it is %s", shown.SaleState)
		}
		return nil
	})
}

// onSale creates a sale that is open now.
func (s *shop) onSale(title string, stock int64) int64 {
	s.tb.Helper()
	return s.offer(title, stock, time.Now().Add(-time.Hour), time.Now().Add(26*time.Hour), "on_sale")
}

// offerSeveral creates an open sale in which each user may have perUser units.
func (s *shop) offerSeveral(title string, stock, perUser int64) int64 {
	s.tb.Helper()
	var made struct{ ID int64 }
	s.must(http.MethodPost, "/voucher/seckill", admin, map[string]any{
		"shopId": 1, "title": title, "payValue": 1000, "actualValue": 5000, "stock": stock, "perUser": perUser,
		"beginTime": time.Now().Add(-time.Hour), "endTime": time.Now().Add(26 * time.Hour),
	}, &made)
	s.awaitState(made.ID, "on_sale")
	return made.ID
}

// orders returns a user's orders, as "voucher status", newest first.
func (s *shop) orders(user int64) []string {
	s.tb.Helper()
	var list []struct {
		VoucherID int64
		Status    string
	}
	s.must(http.MethodGet, "/order", user, nil, &list)
	lines := make([]string, len(list))
	for i, o := range list {
		lines[i] = fmt.Sprintf("%d %s", o.VoucherID, o.Status)
	}
	return lines
}

// signedIn returns the device with a user who has already signed in.
func (s *shop) signedIn(d device, user int64) device {
	s.tb.Helper()
	d.script += fmt.Sprintf("if (location.host) localStorage.setItem('seckill.token', %s);", quoted(s.token(user)))
	return d
}

// through returns the shop's address behind a proxy.
func (s *shop) through(p *testkit.Proxy) string {
	return (&url.URL{Scheme: "http", Host: p.Addr, Path: "/"}).String()
}
