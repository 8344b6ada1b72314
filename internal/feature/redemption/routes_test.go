package redemption_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"seckill/internal/authtoken"
	"seckill/internal/feature/redemption"
	"seckill/internal/httpapi/httpkit"
	"seckill/internal/order"
	"seckill/internal/testkit/apitest"
	"seckill/internal/testkit/featuretest"
	"seckill/internal/voucher"
)

// orderID is beyond 2^53, as real ones are.
const orderID = 660_000_000_123_456_789

// noon is the time in tests of routes.
var noon = apitest.Noon()

// fakeTills does what the function does; without one every code is of coupon(). coupon is the coupon of every order;
// "" is none.
type fakeTills struct {
	do     func(cmd redemption.Command) (redemption.Outcome, error)
	coupon redemption.Coupon

	couponErr error
}

func (f fakeTills) Do(_ context.Context, cmd redemption.Command, code string) (redemption.Outcome, error) {
	cmd.Code = redemption.Code(code)
	if f.do == nil {
		return redemption.Outcome{Coupon: f.coupon, At: noon}, nil
	}
	return f.do(cmd)
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
		OrderID: orderID, VoucherID: 5, ShopID: apitest.ShopID, Code: "0A6FZXWAHPRGDBFQ", Status: s,
		ValidUntil:  noon.Add(time.Hour),
		Reservation: redemption.Reservation{ID: "r-1", Till: apitest.TillID, Key: "k", Until: noon.Add(time.Minute)},
	}
	if s == order.Redeemed {
		c.RedeemedBy, c.RedeemedAt, c.Reservation = apitest.TillID, noon, redemption.Reservation{}
	}
	return c
}

// fakeSales has every voucher and every order, or neither.
type fakeSales struct {
	err     error // of orders
	findErr error // of vouchers
}

func (f fakeSales) Find(_ context.Context, id int64) (voucher.Voucher, error) {
	return voucher.Voucher{ID: id, Title: "券", ActualValue: 10000}, f.findErr
}

func (f fakeSales) Order(_ context.Context, userID, id int64, _ time.Duration) (order.Order, error) {
	return order.Order{ID: id, UserID: userID, VoucherID: 5, Status: order.Paid}, f.err
}

// routesOn are the routes of coupons.
func routesOn(tills fakeTills, sales fakeSales) []httpkit.Route {
	shop := redemption.Shop{Find: sales.Find, Order: sales.Order}
	return redemption.Routes(tills.Do, tills.CouponOf, shop, httpkit.Front{
		Bodies: httpkit.Bodies{Limit: apitest.BodyLimit}, Currency: "CNY",
	})
}

// serve returns an API with the routes of coupons.
func serve(tb testing.TB, tills fakeTills, sales fakeSales) http.Handler {
	tb.Helper()
	return featuretest.Serve(tb, routesOn(tills, sales), redemption.Rules(), apitest.State{})
}

// ask makes a request with a token.
func ask(tb testing.TB, api http.Handler, token string, req apitest.Request) *httptest.ResponseRecorder {
	tb.Helper()
	req.Header = map[string]string{"Authorization": token, "Idempotency-Key": "k"}
	w := httptest.NewRecorder()
	api.ServeHTTP(w, req.HTTP(tb, tb.Context()))
	return w
}

// asTill sends what a till wants.
func asTill(tb testing.TB, api http.Handler, what, body string) *httptest.ResponseRecorder {
	tb.Helper()
	return ask(tb, api, apitest.TillToken(tb),
		apitest.Request{Method: http.MethodPost, Target: "/till/" + what, Body: body})
}

// What a till sends comes to the service, with who it is by its token; what a till of no shop, a buyer and an admin
// send does not.
func TestTillsCommands(t *testing.T) {
	t.Parallel()
	till := redemption.Till{ID: apitest.TillID, ShopID: apitest.ShopID}
	homeless, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
		"sub": "70", "role": authtoken.RoleTill, "iat": noon.Unix(), "exp": noon.Add(time.Minute).Unix(),
	}).SignedString([]byte(apitest.Secret))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]redemption.Command{
		"validate": {Verb: redemption.Validate, Till: till, Code: "c"},
		"reserve":  {Verb: redemption.Reserve, Till: till, Code: "c", Key: "k"},
		"redeem":   {Verb: redemption.Redeem, Till: till, Code: "c", Key: "k", Reservation: "r"},
		"release":  {Verb: redemption.Release, Till: till, Code: "c", Reservation: "r"},
	} {
		var got []redemption.Command
		api := serve(t, fakeTills{do: func(cmd redemption.Command) (redemption.Outcome, error) {
			got = append(got, cmd)
			return redemption.Outcome{Coupon: coupon(order.Paid), At: noon}, nil
		}}, fakeSales{})
		body := `{"code":"c"}`
		if want.Reservation != "" {
			body = `{"code":"c","reservationId":"r"}`
		}
		if w := asTill(t, api, path, body); w.Code != http.StatusOK {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
		for who, token := range map[string]string{
			"buyer":           apitest.Token(t, apitest.BuyerID, ""),
			"admin":           apitest.Token(t, apitest.AdminID, authtoken.RoleAdmin),
			"till of no shop": homeless,
		} {
			w := ask(t, api, token, apitest.Request{Method: http.MethodPost, Target: "/till/" + path, Body: body})
			if w.Code != http.StatusForbidden {
				t.Errorf("%s by a %s: %d, want 403", path, who, w.Code)
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
				`"actualValue":10000,"currency":"CNY","status":"paid",` +
				`"validUntil":"2026-01-02T13:00:00.000Z","reservation":{"id":"r-1",` +
				`"until":"2026-01-02T12:01:00.000Z"},"repeated":false,"serverTime":"2026-01-02T12:00:00.000Z"}`,
		},
		"of several units": {
			outcome: redemption.Outcome{Coupon: several, At: noon}, status: 200,
			want: `{"orderId":"660000000123456789","voucherId":5,"title":"券",` +
				`"actualValue":10000,"currency":"CNY","quantity":3,"status":"paid",` +
				`"validUntil":"2026-01-02T13:00:00.000Z",` +
				`"repeated":false,"serverTime":"2026-01-02T12:00:00.000Z"}`,
		},
		"another's reservation": {
			outcome: redemption.Outcome{Coupon: stranger, At: noon}, status: 200,
			want: `{"orderId":"660000000123456789","voucherId":5,"title":"券",` +
				`"actualValue":10000,"currency":"CNY","status":"paid",` +
				`"validUntil":"2026-01-02T13:00:00.000Z","repeated":false,` +
				`"serverTime":"2026-01-02T12:00:00.000Z"}`,
		},
		"redeemed by itself": {
			err: &redemption.RefusalError{
				Reason: redemption.ErrRedeemed, Coupon: coupon(order.Redeemed),
				Till: redemption.Till{ID: apitest.TillID},
			}, status: 409,
			want: `{"orderId":"660000000123456789","status":"redeemed","redeemTime":"2026-01-02T12:00:00.000Z",` +
				`"validUntil":"2026-01-02T13:00:00.000Z","byThisTill":true}`,
		},
		"reserved by another": {
			err: fmt.Errorf("x: %w", &redemption.RefusalError{
				Reason: redemption.ErrReserved, Coupon: stranger, Till: redemption.Till{ID: apitest.TillID},
			}), status: 409,
			want: `{"orderId":"660000000123456789","status":"paid","validUntil":"2026-01-02T13:00:00.000Z",` +
				`"reservedUntil":"2026-01-02T12:01:00.000Z","byThisTill":false}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := asTill(t, serve(t, fakeTills{
				do: func(redemption.Command) (redemption.Outcome, error) { return tc.outcome, tc.err },
			}, fakeSales{}), "validate", `{"code":"x"}`)
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
	api := serve(t, fakeTills{coupon: coupon(order.Redeemed)}, fakeSales{findErr: errors.New("away")})
	if w := asTill(t, api, "redeem", `{"code":"x"}`); w.Code != http.StatusOK ||
		strings.Contains(w.Body.String(), "title") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// The picture is the one in the file, which a reader of QR codes has read as this code. An order without a code has
// none.
func TestQRPicture(t *testing.T) {
	t.Parallel()
	get := func(f fakeTills) *httptest.ResponseRecorder {
		return ask(t, serve(t, f, fakeSales{}), apitest.Token(t, apitest.BuyerID, ""),
			apitest.Request{Method: http.MethodGet, Target: "/order/5/qr"})
	}
	w := get(fakeTills{coupon: coupon(order.Paid)})
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
	if w := get(fakeTills{}); w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), "COUPON_NOT_FOUND") {
		t.Errorf("without a code: %d %s", w.Code, w.Body)
	}
}
