package shop_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/authtoken"
	"seckill/internal/httpapi/httpkit"
	"seckill/internal/order"
	"seckill/internal/order/audit"
)

const allEventsPath = "/order/events"

// eventText is the event of the test's order in a state.
func eventText(s order.Status) string {
	return "event: order\nid: " + s.String() + "\ndata: " +
		`{"id":"660000000123456789","voucherId":5,"userId":42,"status":"` + s.String() + `","amount":1000,` +
		`"currency":"CNY"}` + "\n\n"
}

// step is what a scripted watch does next: it yields an order, or returns.
type step struct {
	status  order.Status
	same    bool // nothing has changed
	returns bool
	err     error
}

// script is a watch that takes its steps from a channel, and ends with its context.
func script(steps <-chan step) watch {
	return func(ctx context.Context, userID, id int64, yield func(order.Order, bool) error) error {
		if userID != buyerID || id != orderID {
			return fmt.Errorf("called with %d, %d", userID, id)
		}
		for {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case s := <-steps:
				if s.returns {
					return s.err
				}
				if err := yield(orderIn(s.status), !s.same); err != nil {
					return err
				}
			}
		}
	}
}

// listen requests the events of the test's order on a connection of its own.
func listen(t *testing.T, addr, method string, header ...string) (net.Conn, *http.Response, *bufio.Reader) {
	t.Helper()
	return listenAt(t, addr, method, eventsPath, header...)
}

func listenAt(
	t *testing.T, addr, method, path string, header ...string,
) (net.Conn, *http.Response, *bufio.Reader) {
	t.Helper()
	conn, r := dial(t, addr)
	text := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n", method, path)
	for _, line := range header {
		text += line + "\r\n"
	}
	if _, err := io.WriteString(conn, text+"\r\n"); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(r, &http.Request{Method: method})
	if err != nil {
		t.Fatalf("reading the answer: %v", err)
	}
	return conn, resp, bufio.NewReader(resp.Body)
}

// expect reads as much of a stream as want has, and compares.
func expect(t *testing.T, r io.Reader, want string) {
	t.Helper()
	got := make([]byte, len(want))
	n, err := io.ReadFull(r, got)
	if diff := cmp.Diff(want, string(got[:n])); diff != "" || err != nil {
		t.Fatalf("%v, stream (-want +got):\n%s", err, diff)
	}
}

// expectEnd checks that the stream is over.
func expectEnd(t *testing.T, r io.Reader) {
	t.Helper()
	if rest, err := io.ReadAll(r); err != nil || len(rest) > 0 {
		t.Errorf("after the end: %q, %v", rest, err)
	}
}

func bearer(t *testing.T) string { return "Authorization: Bearer " + token(t, buyerID, "") }

// The stream of all orders has no ids, as its events are of several orders, and is 204 if nothing can come.
func TestEventsOfAllOrders(t *testing.T) {
	t.Parallel()
	steps := make(chan step, 3)
	steps <- step{status: order.Unpaid}
	steps <- step{status: order.Unpaid, same: true}
	steps <- step{returns: true}
	addr := start(t, newAPI(t, withWatch(script(steps))).Server(""))
	_, _, r := listenAt(t, addr, http.MethodGet, allEventsPath, bearer(t))
	expect(t, r, "retry: 2000\nevent: order\ndata: "+
		`{"id":"660000000123456789","voucherId":5,"userId":42,"status":"unpaid","amount":1000,"currency":"CNY"}`+
		"\n\n:\n\nevent: bye\ndata: {\"reason\":\"final\"}\n\n")
	expectEnd(t, r)
	answer := do(t, newAPI(t), request{Method: http.MethodGet, Target: allEventsPath})
	if answer.Code != http.StatusNoContent || answer.Body.Len() > 0 {
		t.Errorf("without orders: %d %s, want 204", answer.Code, answer.Body)
	}
	unavailable := withWatch(func(context.Context, int64, int64, func(order.Order, bool) error) error {
		return order.ErrUnavailable
	})
	wantProblem(t, do(t, newAPI(t, unavailable), request{Method: http.MethodGet, Target: allEventsPath}),
		http.StatusServiceUnavailable, "UNAVAILABLE")
}

func TestEvents(t *testing.T) {
	t.Parallel()
	steps := make(chan step)
	addr := start(t, newAPI(t, withWatch(script(steps))).Server(""))
	got := make(chan struct{})
	go func() { // the header comes with the first event
		defer close(got)
		steps <- step{status: order.Queued}
	}()
	conn, resp, r := listen(t, addr, http.MethodGet, bearer(t), "Accept-Encoding: gzip")
	<-got
	for name, want := range map[string]string{
		"Content-Type": "text/event-stream", "Cache-Control": "no-store, no-transform", "X-Accel-Buffering": "no",
		"Content-Encoding": "", "X-Content-Type-Options": "nosniff", "Connection": "",
	} {
		if value := resp.Header.Get(name); value != want {
			t.Errorf("%s is %q, want %q", name, value, want)
		}
	}
	if resp.StatusCode != http.StatusOK {
		t.Errorf("status %d", resp.StatusCode)
	}
	expect(t, r, "retry: 2000\nevent: order\nid: queued\ndata: "+
		`{"id":"660000000123456789","voucherId":5,"userId":42,"status":"queued","currency":"CNY"}`+"\n\n")
	steps <- step{status: order.Queued, same: true}
	expect(t, r, ":\n\n")
	for _, s := range []order.Status{order.Unpaid, order.Cancelled, order.Paid, order.Refunding, order.Refunded} {
		steps <- step{status: s}
		expect(t, r, eventText(s))
	}
	steps <- step{returns: true}
	expect(t, r, "event: bye\ndata: {\"reason\":\"final\"}\n\n")
	expectEnd(t, r)
	// The connection stays open.
	if _, err := io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if resp, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("afterwards: %v, %v", resp, err)
	}
}

// A stream that ends before its order does sends the reason, and a browser reconnects.
func TestEventsEnd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		step   step
		reason string
	}{
		"the process stops": {
			step: step{returns: true, err: fmt.Errorf("watching: %w", order.ErrStopping)}, reason: "shutdown",
		},
		"a store is away":     {step: step{returns: true, err: order.ErrUnavailable}, reason: "unavailable"},
		"a final state":       {step: step{returns: true}, reason: "final"},
		"an unexpected error": {step: step{returns: true, err: errors.New("secret detail")}, reason: "unavailable"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			steps := make(chan step, 2)
			a := newAPI(t, withWatch(script(steps)))
			steps <- step{status: order.Unpaid}
			steps <- c.step
			_, _, r := listen(t, start(t, a.Server("")), http.MethodGet, bearer(t))
			expect(t, r, "retry: 2000\n"+eventText(order.Unpaid)+"event: bye\ndata: {\"reason\":\""+c.reason+"\"}\n\n")
			expectEnd(t, r)
		})
	}
}

// A stream lasts for its time, and no longer than its token: on the minute, not with the next heartbeat.
func TestStreamEndsInTime(t *testing.T) {
	t.Parallel()
	const bye = "event: bye\ndata: {\"reason\":\"timeout\"}\n\n"
	watch := withWatch(func(ctx context.Context, _, _ int64, yield func(order.Order, bool) error) error {
		err := yield(orderIn(order.Unpaid), true)
		<-ctx.Done()
		return errors.Join(err, ctx.Err())
	})
	stats := withSaleStats(func(int64) (audit.SaleStats, error) { return saleStats(), nil })
	soonExpired := func(cfg *setup) { cfg.Now = func() time.Time { return noon.Add(time.Hour - 10*time.Millisecond) } }
	for name, change := range map[string]func(*API){
		"it lasts too long": func(a *API) { a.Config.Streams.Lifetime = 10 * time.Millisecond },
		"its token expires": nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			changes := []func(*setup){watch, stats}
			if change == nil {
				changes = append(changes, soonExpired)
			}
			a := newAPI(t, changes...)
			if change != nil {
				change(a)
			}
			addr := start(t, a.Server(""))
			_, _, r := listen(t, addr, http.MethodGet, bearer(t))
			expect(t, r, "retry: 2000\n"+eventText(order.Unpaid)+bye)
			expectEnd(t, r)
			req := "GET /admin/voucher/5/live HTTP/1.1\r\nHost: x\r\nAuthorization: " +
				token(t, adminID, authtoken.RoleAdmin) + "\r\n\r\n"
			conn, r := dial(t, addr)
			if _, err := io.WriteString(conn, req); err != nil {
				t.Fatal(err)
			}
			resp, err := http.ReadResponse(r, nil)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			if err != nil || !strings.HasSuffix(string(body), bye) {
				t.Errorf("a sale's: %q, %v", body, err)
			}
		})
	}
}

// An answer waits no longer than its token is valid.
func TestWaitEndsWithTheToken(t *testing.T) {
	t.Parallel()
	waits := make(chan time.Duration, 2)
	a := newAPI(t, withPurchases(fakePurchases{
		OnBuy: func(_ context.Context, _, _ int64, wait time.Duration) (order.Order, error) {
			waits <- wait
			return orderIn(order.Queued), nil
		},
		OnOrder: func(_ context.Context, _, _ int64, wait time.Duration) (order.Order, error) {
			waits <- wait
			return orderIn(order.Queued), nil
		},
	}), func(cfg *setup) { cfg.Now = func() time.Time { return noon.Add(time.Hour - 10*time.Millisecond) } })
	do(t, a, request{Method: http.MethodPost, Target: "/voucher/seckill/5?wait=5s"})
	do(t, a, request{Method: http.MethodGet, Target: "/order/5?wait=5s"})
	for range 2 {
		if got := soon(t, waits); got != 10*time.Millisecond {
			t.Errorf("it waits %s", got)
		}
	}
}

// Before the first event, errors are answered as on any route.
func TestEventsRefused(t *testing.T) {
	t.Parallel()
	for err, code := range map[error]string{
		order.ErrNotFound: "NOT_FOUND", order.ErrUnavailable: "UNAVAILABLE", errors.New("x"): "INTERNAL",
	} {
		a := newAPI(t, withWatch(
			func(context.Context, int64, int64, func(order.Order, bool) error) error { return err }))
		w := do(t, a, request{Method: http.MethodGet, Target: eventsPath})
		if got := wantProblem(t, w, w.Code, code); got.Status == http.StatusOK ||
			w.Header().Get("X-Accel-Buffering") != "" {
			t.Errorf("%v: %d %v", err, w.Code, w.Header())
		}
	}
}

// A process that stops ends all streams, so that its server's Shutdown does not wait for them, and those opened
// afterwards.
func TestShutdownEndsStreams(t *testing.T) {
	t.Parallel()
	a := newAPI(t, withWatch(func(ctx context.Context, _, _ int64, yield func(order.Order, bool) error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		err := yield(orderIn(order.Unpaid), true)
		<-ctx.Done()
		return errors.Join(err, ctx.Err())
	}))
	s := a.Server("")
	addr := start(t, s)
	const hello = "retry: 2000\n"
	_, _, one := listen(t, addr, http.MethodGet, bearer(t))
	_, _, another := listen(t, addr, http.MethodGet, bearer(t))
	for _, r := range []*bufio.Reader{one, another} {
		expect(t, r, hello+eventText(order.Unpaid))
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	const bye = "event: bye\ndata: {\"reason\":\"shutdown\"}\n\n"
	for _, r := range []*bufio.Reader{one, another} {
		expect(t, r, bye)
		expectEnd(t, r)
	}
	// One that is opened then ends in order: a browser does not reconnect after an error.
	_, resp, r := listen(t, start(t, a.Server("")), http.MethodGet, bearer(t))
	if resp.StatusCode != http.StatusOK {
		t.Errorf("status %d", resp.StatusCode)
	}
	expect(t, r, hello+bye)
	expectEnd(t, r)
}

// A caller who leaves ends the work for them, and is no failure.
func TestCallerLeavesStream(t *testing.T) {
	t.Parallel()
	var log lines
	ended, counted := make(chan error, 1), make(chan string, 1)
	a := newAPI(t, withLog(&log, slog.LevelInfo),
		withWatch(func(ctx context.Context, _, _ int64, yield func(order.Order, bool) error) error {
			err := yield(orderIn(order.Unpaid), true)
			<-ctx.Done()
			ended <- ctx.Err()
			return errors.Join(err, ctx.Err())
		}), func(cfg *setup) {
			cfg.Observe = func(method, route string, status int, code string, _ time.Duration) {
				counted <- fmt.Sprintf("%s %s %d %q", method, route, status, code)
			}
		})
	conn, _, r := listen(t, start(t, a.Server("")), http.MethodGet, bearer(t))
	expect(t, r, "retry: 2000\n"+eventText(order.Unpaid))
	_ = conn.Close()
	for what, got := range map[string]any{
		"context canceled": soon(t, ended), `GET /order/:id/events 200 ""`: soon(t, counted),
	} {
		if fmt.Sprint(got) != what {
			t.Errorf("%v, want %s", got, what)
		}
	}
	if log.String() != "" {
		t.Errorf("log %s", log.String())
	}
}

// soon receives from a channel within a minute.
func soon[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(time.Minute):
		t.Fatal("nothing received")
		panic("unreachable")
	}
}

// A caller who does not read is cut off once the connection's buffers are full: by the deadline of each piece,
// because the server's own write timeout would also end a stream that is read.
func TestSlowReaderIsCutOff(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	a := newAPI(t, withWatch(func(_ context.Context, _, _ int64, yield func(order.Order, bool) error) error {
		for {
			if err := yield(orderIn(order.Unpaid), true); err != nil {
				ended <- err
				return err
			}
		}
	}))
	a.Config.Streams.WriteTimeout = 200 * time.Millisecond
	addr := start(t, a.Server(""))
	conn, _ := dial(t, addr)
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\n%s\r\n\r\n", eventsPath, bearer(t)); err != nil {
		t.Fatal(err)
	}
	if err := soon(t, ended); !errors.Is(err, httpkit.ErrStreamBroken) {
		t.Errorf("ended with %v", err)
	}
}

// A stream lasts longer than the server's write timeout.
func TestStreamExceedsTheWriteTimeout(t *testing.T) {
	t.Parallel()
	steps := make(chan step)
	s := newAPI(t, withWatch(script(steps))).Server("")
	s.WriteTimeout = time.Second // in which a busy machine begins to answer
	addr := start(t, s)
	go func() { steps <- step{status: order.Unpaid} }()
	_, _, r := listen(t, addr, http.MethodGet, bearer(t))
	expect(t, r, "retry: 2000\n"+eventText(order.Unpaid))
	<-time.After(2 * s.WriteTimeout)
	steps <- step{status: order.Paid}
	expect(t, r, eventText(order.Paid))
}

func TestTooManyStreams(t *testing.T) {
	t.Parallel()
	steps := make(chan step, 3)
	a := newAPI(t, withWatch(script(steps)),
		withSaleStats(func(int64) (audit.SaleStats, error) { return saleStats(), nil }), func(cfg *setup) {
			cfg.Streams = httpkit.NewStreams(1, 10)
		})
	addr := start(t, a.Server(""))
	steps <- step{status: order.Unpaid}
	_, _, r := listen(t, addr, http.MethodGet, bearer(t))
	expect(t, r, "retry: 2000\n"+eventText(order.Unpaid))
	w := do(t, a, request{Method: http.MethodGet, Target: eventsPath})
	wantProblem(t, w, http.StatusServiceUnavailable, "UNAVAILABLE")
	if w.Header().Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	if w := asAdmin(t, a, request{Method: http.MethodHead, Target: "/admin/voucher/5/live"}); w.Code != http.StatusOK {
		t.Errorf("an admin who watches the sale gets %d", w.Code)
	}
	// A stream that ends makes room for another, and refused ones did not count.
	steps <- step{returns: true}
	expect(t, r, "event: bye\ndata: {\"reason\":\"final\"}\n\n")
	expectEnd(t, r)
	steps <- step{status: order.Paid}
	_, resp, r := listen(t, addr, http.MethodGet, bearer(t))
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("status %d", resp.StatusCode)
	}
	expect(t, r, "retry: 2000\n"+eventText(order.Paid))
}

// One user cannot take all streams: more are refused, other users' are not, and one that ends makes room.
func TestTooManyStreamsOfOneUser(t *testing.T) {
	t.Parallel()
	end := make(chan struct{})
	a := newAPI(t, withWatch(func(ctx context.Context, _, _ int64, yield func(order.Order, bool) error) error {
		err := yield(orderIn(order.Unpaid), true)
		select {
		case <-ctx.Done():
		case <-end:
		}
		return err
	}), func(cfg *setup) { cfg.Streams = httpkit.NewStreams(20_000, 2) })
	addr := start(t, a.Server(""))
	follow := func(authorization string) *bufio.Reader {
		t.Helper()
		_, resp, r := listen(t, addr, http.MethodGet, authorization)
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("status %d", resp.StatusCode)
		}
		expect(t, r, "retry: 2000\n"+eventText(order.Unpaid))
		return r
	}
	one, two := follow(bearer(t)), follow(bearer(t))
	w := do(t, a, request{Method: http.MethodGet, Target: eventsPath})
	wantProblem(t, w, http.StatusTooManyRequests, "RATE_LIMITED")
	if got := w.Header().Get("Retry-After"); got != "30" {
		t.Errorf("Retry-After is %q", got)
	}
	follow("Authorization: " + token(t, buyerID+1, ""))
	if n := a.Load().Streams; n != 3 {
		t.Errorf("%d streams are open", n)
	}
	close(end)
	for _, r := range []*bufio.Reader{one, two} {
		expect(t, r, "event: bye\ndata: {\"reason\":\"final\"}\n\n")
		expectEnd(t, r)
	}
	follow(bearer(t))
}

// HEAD answers whether there is such a stream, at once, and the connection stays open.
func TestHeadOfEvents(t *testing.T) {
	t.Parallel()
	addr := start(t, newAPI(t, withPurchases(fakePurchases{
		OnWatch: func(context.Context, int64, int64, func(order.Order, bool) error) error {
			t.Error("watched")
			return nil
		},
		OnOrder: func(_ context.Context, userID, id int64, wait time.Duration) (order.Order, error) {
			if userID != buyerID || id != orderID || wait != 0 {
				return order.Order{}, order.ErrNotFound
			}
			return orderIn(order.Queued), nil
		},
	})).Server(""))
	conn, resp, _ := listen(t, addr, http.MethodHead, bearer(t))
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" || resp.Close {
		t.Errorf("%d %v", resp.StatusCode, resp.Header)
	}
	if _, err := fmt.Fprintf(conn, "HEAD /order/5/events HTTP/1.1\r\nHost: x\r\n%s\r\n\r\n", bearer(t)); err != nil {
		t.Fatal(err)
	}
	if resp, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: http.MethodHead}); err != nil ||
		resp.StatusCode != http.StatusNotFound {
		t.Errorf("another's order: %v, %v", resp, err)
	}
}

// A browser that reconnects with the final state is answered 204, which ends its attempts; any other gets the order
// as it is.
func TestReconnectAfterTheEnd(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		now   order.Status
		known string
		ends  bool
	}{
		{order.Refunded, "refunded", true},
		{order.Failed, "failed", true},
		{order.Redeemed, "redeemed", true},
		{order.Refunded, "refunding", false},
		{order.Refunded, "", false},
		{order.Cancelled, "cancelled", false},
		{order.Unpaid, "unpaid", false},
	} {
		steps := make(chan step, 2)
		steps <- step{status: c.now}
		steps <- step{returns: true}
		_, resp, r := listen(t, start(t, newAPI(t, withWatch(script(steps))).Server("")), http.MethodGet, bearer(t),
			"Last-Event-ID: "+c.known)
		if c.ends {
			if resp.StatusCode != http.StatusNoContent {
				t.Errorf("%s, known %q: %d", c.now, c.known, resp.StatusCode)
			}
			continue
		}
		first, err := r.ReadString('\n')
		if resp.StatusCode != http.StatusOK || first != "retry: 2000\n" || err != nil {
			t.Errorf("%s, known %q: %d %q %v", c.now, c.known, resp.StatusCode, first, err)
		}
	}
}

// A handler that panics in the middle of a stream writes nothing more into it, and is logged.
func TestPanicInAStream(t *testing.T) {
	t.Parallel()
	var log lines
	a := newAPI(t, withLog(&log, slog.LevelInfo),
		withWatch(func(_ context.Context, _, _ int64, yield func(order.Order, bool) error) error {
			if err := yield(orderIn(order.Unpaid), true); err != nil {
				return err
			}
			panic("a bug")
		}))
	_, _, r := listen(t, start(t, a.Server("")), http.MethodGet, bearer(t))
	expect(t, r, "retry: 2000\n"+eventText(order.Unpaid))
	expectEnd(t, r)
	if got := log.String(); !strings.Contains(got, `"code":"INTERNAL"`) || !strings.Contains(got, "a bug") {
		t.Errorf("log %s", got)
	}
}

// A browser's EventSource sends no headers: on this route alone the token may stand in the query. It is not logged.
func TestTokenInTheQuery(t *testing.T) {
	t.Parallel()
	var log lines
	watch := func(_ context.Context, userID, _ int64, _ func(order.Order, bool) error) error {
		return fmt.Errorf("%w: user %d", order.ErrUnavailable, userID)
	}
	a := newAPI(t, withLog(&log, slog.LevelDebug), withWatch(watch))
	good := token(t, buyerID, "")
	ask := func(target, authorization string) (int, string) {
		t.Helper()
		w := do(t, a, request{
			Method: http.MethodGet, Target: target, Header: map[string]string{"Authorization": authorization},
		})
		return w.Code, read(t, w).Code
	}
	if status, code := ask(eventsPath+"?access_token="+good, ""); code != "UNAVAILABLE" {
		t.Errorf("in the query: %d %s", status, code)
	}
	if status, code := ask(eventsPath+"?access_token=x", good); code != "UNAVAILABLE" {
		t.Errorf("in the header, which goes first: %d %s", status, code)
	}
	for _, target := range []string{
		eventsPath, eventsPath + "?access_token=", eventsPath + "?access_token=x",
		eventsPath + "?access_token=" + good + "&access_token=" + good, eventsPath + "?access_token=" + good + "&%zz",
		eventsPath + "?token=" + good, eventsPath + "?access_token=Bearer%20" + good,
		"/order/5?access_token=" + good, "/order?access_token=" + good,
	} {
		if status, code := ask(target, ""); status != http.StatusUnauthorized || code != "UNAUTHENTICATED" {
			t.Errorf("%.60s: %d %s", target, status, code)
		}
	}
	if status, code := ask(eventsPath+"?access_token="+good, "bad"); code != "UNAUTHENTICATED" {
		t.Errorf("a bad one in the header: %d %s", status, code)
	}
	if got := log.String(); strings.Contains(got, good) || !strings.Contains(got, eventsPath) {
		t.Errorf("log %s", got)
	}
}

// Forged tokens in the query are refused too.
func TestForgedTokensInTheQuery(t *testing.T) {
	t.Parallel()
	a := newAPI(t, forgeryRules)
	forged := forgeries(t)
	for _, what := range slices.Sorted(maps.Keys(forged)) {
		w := do(t, a, request{Method: http.MethodGet, Target: eventsPath + "?access_token=" +
			url.QueryEscape(forged[what]), Header: map[string]string{"Authorization": ""}})
		if w.Code != http.StatusUnauthorized {
			t.Errorf("%s: %d %s", what, w.Code, w.Body)
		}
	}
}
