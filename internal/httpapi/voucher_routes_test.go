package httpapi

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/order"
	"seckill/internal/voucher"
)

// What a voucher of each kind looks like to clients.
const (
	ordinaryDocument = `"id":1,"shopId":2,"title":"a \u003cb\u003e","subTitle":"","rules":"","payValue":0,"actualValue":100,"payWithinSeconds":60,"type":0,"status":1,` +
		`"createTime":"2026-01-02T12:00:00Z","updateTime":"2026-01-02T12:00:00Z"`
	seckillDocument = `"id":9007199254740991,"shopId":2,"title":"券","subTitle":"s","rules":"r","payValue":1000,"actualValue":10000,"payWithinSeconds":900,"type":1,"status":1,` +
		`"stock":3,"issued":10,"beginTime":"2026-01-02T12:00:00Z","endTime":"2026-01-02T13:00:00.5Z","saleState":"on_sale",` +
		`"createTime":"2026-01-02T12:00:00Z","updateTime":"2026-01-02T12:00:00Z"`
)

func ordinaryVoucher() voucher.Shown {
	return voucher.Shown{Voucher: voucher.Voucher{
		ID: 1, ShopID: 2, Title: "a <b>", ActualValue: 100, PayWithin: time.Minute, Status: voucher.OnShelf, CreatedAt: noon, UpdatedAt: noon,
	}}
}

func seckillVoucher() voucher.Shown {
	zone := time.FixedZone("x", 3600)
	return voucher.Shown{
		Voucher: voucher.Voucher{
			ID: voucher.MaxID, ShopID: 2, Title: "券", SubTitle: "s", Rules: "r", PayValue: 1000, ActualValue: 10000,
			PayWithin: voucher.DefaultPayWithin, Kind: voucher.Seckill, Status: voucher.OnShelf, CreatedAt: noon.In(zone), UpdatedAt: noon,
			Sale: &voucher.Sale{Stock: 5, Issued: 10, Begin: noon.In(zone), End: noon.Add(time.Hour + 500*time.Millisecond)},
		},
		Live: &voucher.Live{State: voucher.StateOnSale, Stock: 3},
	}
}

func TestVoucherDocuments(t *testing.T) {
	t.Parallel()
	a := newAPI(t, func(cfg *Config) {
		cfg.Vouchers = &fakeVouchers{
			get: func(id int64) (voucher.Shown, error) {
				if id == 1 {
					return ordinaryVoucher(), nil
				}
				return seckillVoucher(), nil
			},
			list: func(shopID int64) ([]voucher.Shown, error) {
				if shopID != 2 {
					return nil, nil
				}
				return []voucher.Shown{seckillVoucher(), ordinaryVoucher()}, nil
			},
		}
	})
	const now = `"serverTime":"2026-01-02T12:00:00.12Z"` // the microseconds left out, not rounded
	for target, want := range map[string]string{
		"/voucher/1":                `{"success":true,"data":{` + ordinaryDocument + `,` + now + `}}`,
		"/voucher/9007199254740991": `{"success":true,"data":{` + seckillDocument + `,` + now + `}}`,
		"/voucher/list/2":           `{"success":true,"data":[{` + seckillDocument + `},{` + ordinaryDocument + `}],"total":2,` + now + `}`,
		"/voucher/list/3":           `{"success":true,"data":[],"total":0,` + now + `}`,
	} {
		w := do(t, a, request{method: http.MethodGet, target: target, header: map[string]string{"Authorization": ""}})
		if diff := cmp.Diff(want, w.Body.String()); diff != "" || w.Code != http.StatusOK {
			t.Errorf("%s: %d %s", target, w.Code, diff)
		}
	}
}

func TestCreatedVoucherIsShown(t *testing.T) {
	t.Parallel()
	w := do(t, newAPI(t), request{
		method: http.MethodPost, target: "/voucher/seckill", body: object(goodBody()),
		header: map[string]string{"Authorization": token(t, adminID, RoleAdmin)},
	})
	want := `{"success":true,"data":{"id":1,"shopId":1,"title":"100 for 10","subTitle":"tonight","rules":"one each","payValue":1000,"actualValue":10000,` +
		`"payWithinSeconds":900,"type":1,"status":1,"stock":5000,"issued":5000,"beginTime":"2026-01-02T20:00:00Z","endTime":"2026-01-02T22:00:00Z","saleState":"on_sale",` +
		`"createTime":"2026-01-02T12:00:00Z","updateTime":"2026-01-02T12:00:00Z"}}`
	if diff := cmp.Diff(want, w.Body.String()); diff != "" || w.Code != http.StatusCreated || w.Header().Get("Location") != "/voucher/1" {
		t.Errorf("%d, Location %q, %s", w.Code, w.Header().Get("Location"), diff)
	}
}

func TestVoucherErrors(t *testing.T) {
	t.Parallel()
	for err, code := range map[error]string{
		voucher.ErrNotFound: "NOT_FOUND", order.ErrUnavailable: "UNAVAILABLE", errors.New("x"): "INTERNAL", context.DeadlineExceeded: "UNAVAILABLE",
	} {
		a := newAPI(t, func(cfg *Config) {
			cfg.Vouchers = &fakeVouchers{
				get:  func(int64) (voucher.Shown, error) { return voucher.Shown{}, err },
				list: func(int64) ([]voucher.Shown, error) { return nil, err },
			}
		})
		for _, target := range []string{"/voucher/5", "/voucher/list/5"} {
			if got := read(t, do(t, a, request{method: http.MethodGet, target: target})); got.Code != code {
				t.Errorf("%s with %v: %s, want %s", target, err, got.Code, code)
			}
		}
	}
}

// A time that JSON cannot say is an error, not half an answer.
func TestAnswerThatCannotBeRendered(t *testing.T) {
	t.Parallel()
	a := newAPI(t, func(cfg *Config) {
		cfg.Vouchers = &fakeVouchers{get: func(int64) (voucher.Shown, error) {
			v := seckillVoucher()
			v.Sale.End = time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)
			return v, nil
		}}
	})
	wantProblem(t, do(t, a, request{method: http.MethodGet, target: "/voucher/5"}), http.StatusInternalServerError, "INTERNAL")
}
