package test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/sandbox"
	"seckill/test/box"
)

// leastHostile is the least number of hostile inputs.
const leastHostile = 3000

// hostile is one request that must change nothing.
type hostile struct {
	what string
	raw  string
	want verdict
}

// verdict is the set of allowed answers to a hostile request.
type verdict int

const (
	refused verdict = iota // with 4xx
	outside                // with 401: the token is not accepted
	below                  // with 403: the token is a buyer's
	either                 // accepted or refused, but without a failure of the service
	odd                    // as either, or the connection is closed without an answer
)

// TestHostile sends thousands of generated hostile requests to the real program on real stores. None may be let in,
// change anything, or make the service fail.
func TestHostile(t *testing.T) {
	t.Parallel()
	s := box.RealSite(t, 1)
	at := prepareTarget(t, s)
	inputs := slices.Concat(at.tokens(), at.bodies(), at.paths(), at.queries(), at.headers(), at.callbacks(), at.wire())
	if len(inputs) < leastHostile {
		t.Errorf("%d hostile inputs, want %d or more", len(inputs), leastHostile)
	}
	names := map[string]bool{}
	for _, in := range inputs {
		if names[in.what] {
			t.Errorf("two inputs are called %q", in.what)
		}
		names[in.what] = true
	}
	before := at.picture(t)
	at.sendAll(t, inputs)
	if diff := cmp.Diff(before, at.picture(t)); diff != "" {
		t.Errorf("something was changed:\n%s", diff)
	}
	if log := s.Servers[0].Log.String(); strings.Contains(log, "panic") {
		t.Errorf("a handler panicked:\n%s", log)
	}
	r := s.Client.Must(t, http.StatusCreated, box.Request{
		Method: http.MethodPost, URL: s.URL(fmt.Sprintf("/voucher/seckill/%d?wait=30s", at.sale)),
		Token: box.BuyerToken(77),
	})
	if placed := box.Decode[box.Placed](t, r); placed.OrderID == "" {
		t.Errorf("a buyer afterwards: %s", r.Body)
	}
	t.Logf("%d hostile inputs", len(inputs))
}

// target is the target of hostile requests: a sale, an ordinary voucher, and a buyer's order that is being paid for.
type target struct {
	*box.Site
	sale, ordinary int64
	order          string
	payment        string
	notices        *sandbox.Notices
}

// victim is the buyer whose order is attacked.
const victim = 4242

func prepareTarget(t *testing.T, s *box.Site) *target {
	t.Helper()
	at := &target{Site: s, sale: s.CreateSale(t, 10, time.Now().Add(time.Hour))}
	draft := box.SeckillDraft(1, 1, time.Now(), time.Now())
	for _, name := range []string{"stock", "beginTime", "endTime"} {
		delete(draft, name)
	}
	at.ordinary = box.Decode[box.Voucher](t, s.Client.Must(t, http.StatusCreated, box.Request{
		Method: http.MethodPost, URL: s.URL("/voucher"), Token: box.AdminToken(), Body: draft,
	})).ID
	at.order = box.Decode[box.Placed](t, s.Client.Must(t, http.StatusCreated, box.Request{
		Method: http.MethodPost, URL: s.URL(fmt.Sprintf("/voucher/seckill/%d?wait=30s", at.sale)),
		Token: box.BuyerToken(victim),
	})).OrderID
	at.payment = box.Decode[struct{ PaymentID string }](t, s.Client.Must(t, http.StatusOK, box.Request{
		Method: http.MethodPost, URL: s.URL("/order/" + at.order + "/pay"), Token: box.BuyerToken(victim),
	})).PaymentID
	var err error
	if at.notices, err = sandbox.NewNotices([]byte(box.Secret), time.Now); err != nil {
		t.Fatal(err)
	}
	return at
}

// picture returns everything that a request could have changed.
func (at *target) picture(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for _, table := range []string{
		"tb_voucher", "tb_seckill_voucher", "tb_voucher_order", "tb_voucher_operation", "tb_payment", "tb_order_event",
		"tb_request", "tb_audit",
	} {
		all[table] = at.rows(t, table)
	}
	sale, err := at.Redis.Sale(t.Context(), at.sale)
	if err != nil {
		t.Fatal(err)
	}
	all["redis"] = []string{fmt.Sprintf("%+v", sale)}
	return all
}

// rows returns a table's rows as text.
func (at *target) rows(t *testing.T, table string) []string {
	t.Helper()
	rs, err := at.Ledger.DB.QueryContext(t.Context(), "SELECT * FROM "+table)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rs.Close() }() // rs.Err reports the error
	columns, err := rs.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for rs.Next() {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rs.Scan(into...); err != nil {
			t.Fatal(err)
		}
		for i, v := range values {
			if text, ok := v.([]byte); ok {
				values[i] = string(text)
			}
		}
		rows = append(rows, fmt.Sprint(values))
	}
	if err := rs.Err(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(rows)
	return rows
}

// sendAll sends the inputs over several concurrent connections.
func (at *target) sendAll(t *testing.T, inputs []hostile) {
	t.Helper()
	queue := make(chan hostile)
	var senders sync.WaitGroup
	for range 8 {
		senders.Go(func() {
			for in := range queue {
				if err := at.send(t.Context(), in); err != nil {
					t.Errorf("%s: %v\n%.300q", in.what, err, in.raw)
				}
			}
		})
	}
	for _, in := range inputs {
		queue <- in
	}
	close(queue)
	senders.Wait()
}

// send sends one input on a new connection and returns what is wrong with the answer.
func (at *target) send(ctx context.Context, in hostile) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", at.Servers[0].Addr)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // the error does not matter
	if err := conn.SetDeadline(time.Now().Add(box.Patience)); err != nil {
		return err
	}
	go func() { _, _ = io.WriteString(conn, in.raw) }() // the server may close before it has read everything
	resp, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: methodOf(in.raw)})
	if err != nil {
		if in.want == odd && !errors.Is(err, errTimeout(err)) {
			return nil
		}
		return fmt.Errorf("no answer: %w", err)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil && in.want != odd {
		return fmt.Errorf("%d: reading the answer: %w", resp.StatusCode, err)
	}
	return judge(in, resp, body)
}

// errTimeout returns err if it is a timeout, else an error that matches nothing.
func errTimeout(err error) error {
	var netErr net.Error
	if errors.As(err, &netErr) && netErr.Timeout() {
		return err
	}
	return errors.New("no timeout")
}

func methodOf(raw string) string {
	method, _, _ := strings.Cut(raw, " ")
	return method
}

// unreadable are net/http's own answers, in plain text, to requests that it cannot read.
var unreadable = []int{
	http.StatusBadRequest, http.StatusRequestHeaderFieldsTooLarge, http.StatusNotImplemented,
	http.StatusHTTPVersionNotSupported,
}

// judge returns what is wrong with an answer.
func judge(in hostile, resp *http.Response, body []byte) error {
	status := resp.StatusCode
	var p struct {
		Code    string
		Success *bool
		Status  int
	}
	unread := resp.Header.Get("X-Request-Id") == "" && slices.Contains(unreadable, status)
	if unread && (in.want == odd || in.want == refused && status == http.StatusBadRequest) {
		return nil
	}
	failed := status >= 400 && status != http.StatusExpectationFailed // net/http's own answer, without a body
	if failed && methodOf(in.raw) != http.MethodHead {
		if err := json.Unmarshal(body, &p); err != nil || p.Code == "" || p.Success == nil || *p.Success {
			return fmt.Errorf("%d without a problem document: %.200q", status, body)
		}
	}
	bad := map[verdict]bool{
		refused: status < 400 || status >= 500,
		outside: status != http.StatusUnauthorized,
		below:   status != http.StatusForbidden,
	}[in.want]
	mayFail := map[int]string{
		http.StatusNotImplemented: "NO_PROVIDER", http.StatusServiceUnavailable: p.Code,
		http.StatusGatewayTimeout: p.Code,
	}
	if code, known := mayFail[status]; status >= 500 && (!known || p.Code != code || p.Code == "") {
		bad = true
	}
	if bad {
		return fmt.Errorf("answered %d %.200s", status, body)
	}
	return nil
}
