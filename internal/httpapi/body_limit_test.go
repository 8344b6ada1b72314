package httpapi_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"seckill/internal/authtoken"
	"seckill/internal/order"
)

// huge is the size of a body that is far too large, in bytes.
const huge = 20 << 20

// bodyRoutes are routes that read a body or do not, and what they answer to a huge one of undeclared length: those
// that read it, if only for names that they do not know, refuse it; the others do their work. Either way net/http reads
// no more than 256 KiB of it.
var bodyRoutes = []struct {
	route   string
	role    string // of the token
	chunked int    // status
}{
	{"POST /voucher", authtoken.RoleAdmin, http.StatusRequestEntityTooLarge},
	{"POST /voucher/seckill", authtoken.RoleAdmin, http.StatusRequestEntityTooLarge},
	{"POST /voucher/seckill/5", "", http.StatusRequestEntityTooLarge},
	{"POST /voucher-order/seckill/5", "", http.StatusOK},
	{"POST /payment/callback", "", http.StatusRequestEntityTooLarge},
	{"POST /payment/callback/bank", "", http.StatusRequestEntityTooLarge},
	{"PATCH /voucher/5", authtoken.RoleAdmin, http.StatusRequestEntityTooLarge},
	{"POST /voucher/5/pause", authtoken.RoleAdmin, http.StatusRequestEntityTooLarge},
	{"POST /voucher/buy/5", "", http.StatusRequestEntityTooLarge},
	{"GET /order", "", http.StatusOK},
	{"GET /voucher/list/5", "", http.StatusOK},
	{"GET /healthz", "", http.StatusOK},
	{"PUT /order", "", http.StatusMethodNotAllowed},
	{"POST /nothing", "", http.StatusNotFound},
}

// bodyAPI serves an API whose purchases are counted, and whose vouchers are kept.
func bodyAPI(t *testing.T) (addr string, purchases *atomic.Int64, kept *fakeVouchers) {
	t.Helper()
	purchases, kept = &atomic.Int64{}, &fakeVouchers{}
	a := newAPI(t, func(cfg *setup) {
		cfg.Vouchers = kept
		cfg.Purchases = fakePurchases{OnBuy: func(context.Context, int64, int64, time.Duration) (order.Order, error) {
			purchases.Add(1)
			return order.Order{ID: orderID, Status: order.Queued}, nil
		}}
	})
	return start(t, a.Server("")), purchases, kept
}

// A body of 20 MB is not read, whether or not it declares its length; the server closes that connection in order and
// serves others. One that declares its length is refused on every route before anything is done.
func TestHugeBody(t *testing.T) {
	t.Parallel()
	addr, purchases, kept := bodyAPI(t)
	t.Cleanup(func() {
		if n := purchases.Load(); n != 1 { // chunked, on the tutorial's route
			t.Errorf("%d purchases", n)
		}
		if created := kept.Stored(); len(created) != 0 {
			t.Errorf("created %+v", created)
		}
	})
	for _, c := range bodyRoutes {
		for how, rest := range map[string]string{
			"length":  fmt.Sprintf("Content-Length: %d\r\n\r\n", huge),
			"chunked": fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n", huge),
		} {
			t.Run(c.route+", "+how, func(t *testing.T) {
				t.Parallel()
				status := c.chunked
				if how == "length" {
					status = http.StatusRequestEntityTooLarge
				}
				conn, r := dial(t, addr)
				begin(t, conn, c.route, token(t, buyerID, c.role), rest)
				sent := make(chan int, 1)
				go func() { sent <- pour(conn, huge) }()
				resp, body := answerOn(t, r)
				if resp.Status != status || !resp.Closes ||
					strings.Contains(body, `"TOO_LARGE"`) != (status == http.StatusRequestEntityTooLarge) {
					t.Errorf("%d %s, closes %t, want %d", resp.Status, body, resp.Closes, status)
				}
				if _, err := r.ReadByte(); err == nil {
					t.Error("the connection stays open")
				}
				_ = conn.Close() // ends the pouring
				if n := <-sent; n >= huge {
					t.Errorf("all %d bytes were taken", n)
				}
			})
		}
	}
}

// pour writes spaces until the connection is closed, and returns how many were written.
func pour(conn net.Conn, size int) int {
	chunk := bytes.Repeat([]byte(" "), 64<<10)
	for n := 0; n < size; n += len(chunk) {
		if _, err := conn.Write(chunk); err != nil {
			return n
		}
	}
	return size
}

// The rest of a body that is too large is not waited for: it is answered at once. A bad token is refused before.
func TestHugeBodyIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	addr, purchases, _ := bodyAPI(t)
	const maxCallback = 256 << 10
	length := fmt.Sprintf("Content-Length: %d\r\n\r\n", testBodyLimit+1)
	try := func(name, route, authorization, rest string, status int) {
		t.Run(name+", "+route, func(t *testing.T) {
			t.Parallel()
			conn, r := dial(t, addr)
			begin(t, conn, route, authorization, rest)
			if resp, body := answerOn(t, r); resp.Status != status || !resp.Closes {
				t.Errorf("%d %s, closes %t, want %d", resp.Status, body, resp.Closes, status)
			}
		})
	}
	for _, c := range bodyRoutes {
		declared := length
		if strings.Contains(c.route, "/payment/callback") { // they have a limit of their own
			declared = fmt.Sprintf("Content-Length: %d\r\n\r\n", maxCallback+1)
		}
		try("length", c.route, token(t, buyerID, c.role), declared, http.StatusRequestEntityTooLarge)
	}
	admin := token(t, adminID, authtoken.RoleAdmin)
	try("chunked", "POST /voucher", admin,
		fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s", huge, strings.Repeat(" ", testBodyLimit+1)),
		http.StatusRequestEntityTooLarge)
	try("asked first", "POST /voucher", admin, "Expect: 100-continue\r\n"+length, http.StatusRequestEntityTooLarge)
	try("asked first", "POST /voucher/seckill/5", admin, "Expect: 100-continue\r\n"+length,
		http.StatusRequestEntityTooLarge)
	try("no token", "POST /voucher/seckill/5", "", length, http.StatusUnauthorized)
	try("no token", "GET /order", "", length, http.StatusUnauthorized)
	try("no admin", "POST /voucher", token(t, buyerID, ""), length, http.StatusForbidden)
	t.Cleanup(func() {
		if n := purchases.Load(); n != 0 {
			t.Errorf("%d purchases", n)
		}
	})
}

// The largest allowed body is accepted, one byte more is not, even where the body is not read.
func TestBodyLimit(t *testing.T) {
	t.Parallel()
	body := object(goodBody())
	pad := func(size int) string { return body + strings.Repeat(" ", size-len(body)) }
	if _, status, _ := create(t, "/voucher/seckill", pad(testBodyLimit)); status != http.StatusCreated {
		t.Errorf("at the limit: %d", status)
	}
	if got, status, created := create(t, "/voucher/seckill", pad(testBodyLimit+1)); status !=
		http.StatusRequestEntityTooLarge || got.Code != "TOO_LARGE" || len(created) != 0 {
		t.Errorf("beyond the limit: %d", status)
	}
	a := newAPI(t)
	for target, status := range map[string]int{
		"/voucher/seckill/5": http.StatusAccepted, "/voucher-order/seckill/5": http.StatusOK,
	} {
		if w := do(t, a, request{
			Method: http.MethodPost, Target: target, Body: "{}" + strings.Repeat(" ", testBodyLimit-2),
		}); w.Code != status || w.Header().Get("Connection") != "" {
			t.Errorf("%s at the limit: %d %s", target, w.Code, w.Body)
		}
		w := do(t, a, request{Method: http.MethodPost, Target: target, Body: pad(testBodyLimit + 1)})
		if w.Code != http.StatusRequestEntityTooLarge || read(t, w).Code != "TOO_LARGE" ||
			w.Header().Get("Connection") != "close" {
			t.Errorf("%s beyond the limit: %d %s", target, w.Code, w.Body)
		}
	}
}
