package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/kit/authtoken"
	"seckill/internal/order"
	"seckill/internal/order/redemption"
	"seckill/internal/voucher"
)

const (
	tillID = 70
	shopID = 9
)

// tillToken returns a token of the till.
func tillToken(tb testing.TB) string {
	tb.Helper()
	s, err := authtoken.SignTill(authtoken.Rules{Secret: secret}, tillID, shopID, time.Hour, noon)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// fakeTills does what the function does; without one every code is of coupon(). coupon is the coupon of every order;
// "" is none.
type fakeTills struct {
	do     func(cmd redemption.Command) (redemption.Outcome, error)
	coupon redemption.Coupon

	couponErr error
}

func (f fakeTills) outcome(cmd redemption.Command, code string) (redemption.Outcome, error) {
	cmd.Code = redemption.Code(code)
	if f.do == nil {
		return redemption.Outcome{Coupon: f.coupon, At: noon}, nil
	}
	return f.do(cmd)
}

func (f fakeTills) Validate(_ context.Context, till redemption.Till, code string) (redemption.Outcome, error) {
	return f.outcome(redemption.Command{Verb: redemption.Validate, Till: till}, code)
}

func (f fakeTills) Reserve(_ context.Context, till redemption.Till, code, key string) (redemption.Outcome, error) {
	return f.outcome(redemption.Command{Verb: redemption.Reserve, Till: till, Key: key}, code)
}

func (f fakeTills) Redeem(
	_ context.Context, till redemption.Till, code, reservation, key string,
) (redemption.Outcome, error) {
	return f.outcome(redemption.Command{Verb: redemption.Redeem, Till: till, Key: key, Reservation: reservation}, code)
}

func (f fakeTills) Release(
	_ context.Context, till redemption.Till, code, reservation string,
) (redemption.Outcome, error) {
	return f.outcome(redemption.Command{Verb: redemption.Release, Till: till, Reservation: reservation}, code)
}

func (f fakeTills) CouponOf(context.Context, order.Order) (redemption.Coupon, error) {
	if f.couponErr != nil {
		return redemption.Coupon{}, f.couponErr
	}
	if f.coupon.Code == "" {
		return redemption.Coupon{}, redemption.ErrNotFound
	}
	return f.coupon, nil
}

// coupon is a coupon whose order is in the state.
func coupon(s order.Status) redemption.Coupon {
	c := redemption.Coupon{
		OrderID: orderID, VoucherID: 5, ShopID: shopID, Code: "0A6FZXWAHPRGDBFQ", Status: s,
		ValidUntil:  noon.Add(time.Hour),
		Reservation: redemption.Reservation{ID: "r-1", Till: tillID, Key: "k", Until: noon.Add(time.Minute)},
	}
	if s == order.Redeemed {
		c.RedeemedBy, c.RedeemedAt, c.Reservation = tillID, noon, redemption.Reservation{}
	}
	return c
}

// withCoupon has every order in the state, with a coupon.
func withCoupon(s order.Status) func(*Config) {
	return func(cfg *Config) {
		has(s)(cfg)
		cfg.Tills = fakeTills{coupon: coupon(s)}
	}
}

// tills are what every till's request may be refused with, and these reasons.
func tills(reasons ...error) []error {
	errs := []error{redemption.ErrMalformed, redemption.ErrNotFound, redemption.ErrWrongCodes, order.ErrUnavailable}
	for _, reason := range reasons {
		errs = append(errs,
			&redemption.RefusalError{Reason: reason, Coupon: coupon(order.Paid), Till: redemption.Till{ID: tillID}})
	}
	return errs
}

// While the ledger does not tell a coupon, its order is shown without.
func TestOrderWithoutItsCoupon(t *testing.T) {
	t.Parallel()
	a := newAPI(t, func(cfg *Config) {
		has(order.Paid)(cfg)
		cfg.Tills = fakeTills{couponErr: order.ErrUnavailable}
	})
	got := do(t, a, request{
		target: fmt.Sprint("/order/", orderID), header: map[string]string{"Authorization": token(t, buyerID, "")},
	})
	if body := got.Body.String(); got.Code != http.StatusOK || !strings.Contains(body, `"stale":true`) ||
		!strings.Contains(body, `"status":"paid"`) {
		t.Errorf("%d %s", got.Code, body)
	}
}

// What a till sends comes to the service, with who it is by its token; what a till of no shop, a buyer and an admin
// send does not.
func TestTillsCommands(t *testing.T) {
	t.Parallel()
	till := redemption.Till{ID: tillID, ShopID: shopID}
	for path, want := range map[string]redemption.Command{
		"validate": {Verb: redemption.Validate, Till: till, Code: "c"},
		"reserve":  {Verb: redemption.Reserve, Till: till, Code: "c", Key: "k"},
		"redeem":   {Verb: redemption.Redeem, Till: till, Code: "c", Key: "k", Reservation: "r"},
		"release":  {Verb: redemption.Release, Till: till, Code: "c", Reservation: "r"},
	} {
		var got []redemption.Command
		a := newAPI(t, func(cfg *Config) {
			cfg.Tills = fakeTills{do: func(cmd redemption.Command) (redemption.Outcome, error) {
				got = append(got, cmd)
				return redemption.Outcome{Coupon: coupon(order.Paid), At: noon}, nil
			}}
		})
		body := `{"code":"c"}`
		if want.Reservation != "" {
			body = `{"code":"c","reservation":"r"}`
		}
		ask := func(token string) int {
			return do(t, a,
				request{method: http.MethodPost, target: "/till/" + path, body: body, header: map[string]string{
					"Authorization": token, "Idempotency-Key": "k",
				}}).Code
		}
		if code := ask(tillToken(t)); code != http.StatusOK {
			t.Errorf("%s: %d", path, code)
		}
		for who, token := range map[string]string{
			"buyer": token(t, buyerID, ""), "admin": token(t, adminID, authtoken.RoleAdmin),
		} {
			if code := ask(token); code != http.StatusForbidden {
				t.Errorf("%s by a %s: %d, want 403", path, who, code)
			}
		}
		if diff := cmp.Diff([]redemption.Command{want}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
}

func TestTillsAnswers(t *testing.T) {
	t.Parallel()
	stranger := coupon(order.Paid)
	stranger.Reservation.Till = 1
	several := stranger
	several.Quantity = order.QuantityOf(3)
	for name, tc := range map[string]struct {
		outcome redemption.Outcome
		err     error
		status  int
		want    string
	}{
		"reserved by itself": {
			outcome: redemption.Outcome{Coupon: coupon(order.Paid), At: noon}, status: 200,
			want: `{"orderId":"660000000123456789","voucherId":5,"title":"券",` +
				`"actualValue":10000,"status":"paid","validUntil":"2026-01-02T13:00:00Z","reservation":{"id":"r-1",` +
				`"until":"2026-01-02T12:01:00Z"},"repeated":false,"serverTime":"2026-01-02T12:00:00Z"}`,
		},
		"of several units": {
			outcome: redemption.Outcome{Coupon: several, At: noon}, status: 200,
			want: `{"orderId":"660000000123456789","voucherId":5,"title":"券",` +
				`"actualValue":10000,"quantity":3,"status":"paid","validUntil":"2026-01-02T13:00:00Z",` +
				`"repeated":false,"serverTime":"2026-01-02T12:00:00Z"}`,
		},
		"another's reservation": {
			outcome: redemption.Outcome{Coupon: stranger, At: noon}, status: 200,
			want: `{"orderId":"660000000123456789","voucherId":5,"title":"券",` +
				`"actualValue":10000,"status":"paid","validUntil":"2026-01-02T13:00:00Z","repeated":false,` +
				`"serverTime":"2026-01-02T12:00:00Z"}`,
		},
		"redeemed by itself": {
			err: &redemption.RefusalError{
				Reason: redemption.ErrRedeemed, Coupon: coupon(order.Redeemed), Till: redemption.Till{ID: tillID},
			}, status: 409,
			want: `{"orderId":"660000000123456789","status":"redeemed","redeemTime":"2026-01-02T12:00:00Z",` +
				`"validUntil":"2026-01-02T13:00:00Z","byThisTill":true}`,
		},
		"reserved by another": {
			err: fmt.Errorf("x: %w", &redemption.RefusalError{
				Reason: redemption.ErrReserved, Coupon: stranger, Till: redemption.Till{ID: tillID},
			}), status: 409,
			want: `{"orderId":"660000000123456789","status":"paid","validUntil":"2026-01-02T13:00:00Z",` +
				`"reservedUntil":"2026-01-02T12:01:00Z","byThisTill":false}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAPI(t, func(cfg *Config) {
				cfg.Tills = fakeTills{
					do: func(redemption.Command) (redemption.Outcome, error) { return tc.outcome, tc.err },
				}
			})
			w := do(t, a, request{
				method: http.MethodPost, target: "/till/validate", body: `{"code":"x"}`,
				header: map[string]string{"Authorization": tillToken(t)},
			})
			var got struct{ Data json.RawMessage }
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != tc.status ||
				string(got.Data) != tc.want {
				t.Errorf("%d %s, %v; want %d %s", w.Code, got.Data, err, tc.status, tc.want)
			}
		})
	}
}

// A coupon is redeemed whether its voucher can be read or not.
func TestTillsWithoutTheVoucher(t *testing.T) {
	t.Parallel()
	a := newAPI(t, withCoupon(order.Redeemed), func(cfg *Config) {
		cfg.FindVoucher = func(context.Context, int64) (voucher.Voucher, error) {
			return voucher.Voucher{}, errors.New("away")
		}
	})
	w := do(t, a, request{
		method: http.MethodPost, target: "/till/redeem", body: `{"code":"x"}`, header: map[string]string{
			"Authorization": tillToken(t), "Idempotency-Key": "k",
		},
	})
	if w.Code != http.StatusOK || strings.Contains(w.Body.String(), "title") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// Its owner reads the code, an admin its end; a list has none.
func TestWhoReadsCodes(t *testing.T) {
	t.Parallel()
	a := newAPI(t, withCoupon(order.Redeemed))
	admin := map[string]string{"Authorization": token(t, adminID, authtoken.RoleAdmin)}
	for _, tc := range []struct {
		target string
		header map[string]string
		want   string
	}{
		{
			"/order/5", nil,
			`"coupon":{"code":"0A6F-ZXWA-HPRG-DBFQ","validUntil":"2026-01-02T13:00:00Z","redeemedBy":"till 70"}`,
		},
		{"/admin/order/5", admin, `"coupon":{"code":"····-····-····-DBFQ",`},
	} {
		w := do(t, a, request{method: http.MethodGet, target: tc.target, header: tc.header})
		if !strings.Contains(w.Body.String(), tc.want) ||
			tc.header != nil && strings.Contains(w.Body.String(), "0A6F") {
			t.Errorf("%s: %s, want %s", tc.target, w.Body, tc.want)
		}
	}
	for _, target := range []string{"/order", "/admin/order"} {
		if w := do(t, a, request{method: http.MethodGet, target: target, header: admin}); w.Code != http.StatusOK ||
			strings.Contains(w.Body.String(), "DBFQ") {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
	}
}

// The picture is the one in the file, which a reader of QR codes has read as this code.
func TestQRPicture(t *testing.T) {
	t.Parallel()
	a := newAPI(t, withCoupon(order.Paid))
	w := do(t, a, request{method: http.MethodGet, target: "/order/5/qr"})
	want, err := os.ReadFile("testdata/0A6FZXWAHPRGDBFQ.svg")
	if err != nil {
		t.Fatal(err)
	}
	if w.Header().Get("Content-Type") != "image/svg+xml" || strings.TrimSpace(string(want)) != w.Body.String() {
		t.Errorf("%s: %s", w.Header().Get("Content-Type"), w.Body)
	}
	if w.Body.Len() > 4096 {
		t.Errorf("%d bytes", w.Body.Len())
	}
}
