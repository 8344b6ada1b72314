package shop_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/httpapi/shop"
	"seckill/internal/order"
	"seckill/internal/order/payment"
)

// withNotices has callbacks counted by the log, and read by a reader that takes any header but an empty one.
func withNotices(log *notices, confirm error, read payment.ReadNotice) func(*setup) {
	reader := func(h http.Header) (payment.ReadNotice, error) {
		switch h.Get("X-Signature") {
		case "":
			return nil, payment.BadNotice(payment.RefusedSignature, "no signature")
		case "old":
			return nil, payment.LateNotice(6*time.Minute + time.Millisecond)
		case "fork":
			return nil, fmt.Errorf("%w: says a reader of 1.0", payment.ErrBadNotice)
		default:
			return read, nil
		}
	}
	return func(cfg *setup) {
		cfg.Notices, cfg.Callbacks = log, map[string]shop.CallbackReader{"": reader, "bank": reader}
		cfg.Payments = fakePayments{OnConfirm: func(payment.Notice) error { return confirm }}
	}
}

// Each notice that is refused for good is counted by provider and reason, with what it says of money only if it is
// signed; those that are to come again are not.
func TestRefusedNoticesAreCounted(t *testing.T) {
	t.Parallel()
	const about = `{}`
	for name, c := range map[string]struct {
		path, signature, body string
		declares              int64
		confirm               error
		status                int
		want                  *payment.RefusedNotice
		ignored               int
	}{
		"taken": {path: "/bank", signature: "s", body: about, status: 200},
		"no signature": {path: "", body: about, status: 401, want: &payment.RefusedNotice{
			Provider: "cards", Refusal: payment.RefusedSignature,
			Detail: "not a notice of the payment provider: no signature",
		}},
		"old": {path: "/bank", signature: "old", body: about, status: 401, want: &payment.RefusedNotice{
			Provider: "bank", Refusal: payment.RefusedTime,
			Detail: "not a notice of the payment provider: it was signed 6m0s ago",
		}},
		"a reader that gives no reason": {
			path: "/bank", signature: "fork", body: about, status: 401, want: &payment.RefusedNotice{
				Provider: "bank", Refusal: payment.RefusedOther,
				Detail: "not a notice of the payment provider: says a reader of 1.0",
			},
		},
		"too large": {
			path: "/bank", signature: "s", body: strings.Repeat(" ", 256<<10+1), status: 413,
			want: &payment.RefusedNotice{
				Provider: "bank", Refusal: payment.RefusedTooLarge,
				Detail: "not a notice of the payment provider: its body is larger than 256 KiB",
			},
		},
		"too large, not signed": {
			path: "/bank", body: strings.Repeat(" ", 256<<10+1), status: 401, want: &payment.RefusedNotice{
				Provider: "bank", Refusal: payment.RefusedSignature,
				Detail: "not a notice of the payment provider: no signature",
			},
		},
		"no such provider": {path: "/banc", signature: "s", body: about, status: 404, want: &payment.RefusedNotice{
			Refusal: payment.RefusedProvider,
			Detail:  `not a notice of the payment provider: no provider is called "banc"`,
		}},
		"no such payment": {
			path: "/bank", signature: "s", body: about, status: 404, confirm: payment.ErrNotFound,
			want: &payment.RefusedNotice{
				Provider: "bank", Refusal: payment.RefusedUnknownPayment, Detail: "payment not found",
				PaymentID: "pay_1", Amount: 1000,
			},
		},
		"another amount": {
			path: "", signature: "s", body: about, status: 409, confirm: payment.ErrWrongAmount,
			want: &payment.RefusedNotice{
				Provider: "cards", Refusal: payment.RefusedAmount, Detail: "amount differs from the payment's",
				PaymentID: "pay_1", Amount: 1000,
			},
		},
		"of another type": {path: "/bank", signature: "s", body: "other", status: 200, ignored: 1},
		"stores are away": {path: "/bank", signature: "s", body: about, status: 503, confirm: order.ErrUnavailable},
		"a mistake":       {path: "/bank", signature: "s", body: about, status: 500, confirm: errors.New("x")},
		"200 KiB, indented": {
			path: "/bank", signature: "s", body: about + strings.Repeat("\n        ", 200<<10/9), status: 200,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := &notices{}
			a := newAPI(t, withNotices(log, c.confirm, func(
				_ context.Context, body []byte, _ payment.FindPayment,
			) (payment.Notice, error) {
				if string(body) == "other" {
					return payment.Notice{}, fmt.Errorf("%w: charge.updated", payment.ErrIgnored)
				}
				return payment.Notice{PaymentID: "pay_1", Amount: 1000, Provider: "bank"}, nil
			}))
			w := do(t, a, request{
				Method: http.MethodPost, Target: "/payment/callback" + c.path, Body: c.body,
				Header: map[string]string{"Authorization": "", "X-Signature": c.signature},
			})
			var want []payment.RefusedNotice
			if c.want != nil {
				c.want.Count = 1
				want = append(want, *c.want)
			}
			refused, ignored := log.Taken()
			if diff := cmp.Diff(want, append([]payment.RefusedNotice(nil), refused...)); diff != "" ||
				ignored != c.ignored || w.Code != c.status {
				t.Errorf("%d %s, %d ignored, refused (-want +got):\n%s", w.Code, w.Body, ignored, diff)
			}
		})
	}
}

// Admins read the last refused notice of each provider and reason; of one that anybody may have sent no money.
func TestRefusedNotices(t *testing.T) {
	t.Parallel()
	const want = `{"success":true,"data":[` +
		`{"provider":"bank","reason":"unknown_payment","count":1,"detail":"payment not found","paymentId":"pay_9",` +
		`"amount":1000,"currency":"CNY","lastTime":"2026-01-02T12:00:00.000Z"},` +
		`{"provider":"","reason":"unknown_provider","count":7,"detail":"no provider is called \"x\"",` +
		`"lastTime":"2026-01-02T12:00:00.000Z"}]}`
	w := asAdmin(t, newAPI(t), request{Method: http.MethodGet, Target: "/admin/notice"})
	if diff := cmp.Diff(want, w.Body.String()); diff != "" || w.Code != http.StatusOK {
		t.Errorf("%d %s", w.Code, diff)
	}
}
