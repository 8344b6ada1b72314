package shop_test

import (
	"context"
	"errors"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/authtoken"
	"seckill/internal/order"
	"seckill/internal/voucher"
)

func TestVoucherDocuments(t *testing.T) {
	t.Parallel()
	a := newAPI(t, func(cfg *setup) {
		cfg.Vouchers = &fakeVouchers{
			Get: func(id int64) (voucher.Shown, error) {
				if id == 1 {
					return ordinaryVoucher(), nil
				}
				return seckillVoucher(), nil
			},
			OnList: func(shopID int64) ([]voucher.Shown, error) {
				if shopID != 2 {
					return nil, nil
				}
				return []voucher.Shown{seckillVoucher(), ordinaryVoucher()}, nil
			},
		}
	})
	const now = `"serverTime":"2026-01-02T12:00:00.120Z"` // the microseconds left out, not rounded
	for target, want := range map[string]string{
		"/voucher/1":                `{"success":true,"data":{` + ordinaryDocument + `,` + now + `}}`,
		"/voucher/9007199254740991": `{"success":true,"data":{` + seckillDocument + `,` + now + `}}`,
		"/voucher/list/2": `{"success":true,"data":[{` + seckillDocument + `},{` + ordinaryDocument +
			`}],"total":2,` + now + `}`,
		"/voucher/list/3": `{"success":true,"data":[],"total":0,` + now + `}`,
	} {
		w := do(t, a, request{Method: http.MethodGet, Target: target, Header: map[string]string{"Authorization": ""}})
		if diff := cmp.Diff(want, w.Body.String()); diff != "" || w.Code != http.StatusOK {
			t.Errorf("%s: %d %s", target, w.Code, diff)
		}
	}
}

func TestCreatedVoucherIsShown(t *testing.T) {
	t.Parallel()
	w := do(t, newAPI(t), request{
		Method: http.MethodPost, Target: "/voucher/seckill", Body: object(goodBody()),
		Header: map[string]string{"Authorization": token(t, adminID, authtoken.RoleAdmin)},
	})
	want := `{"success":true,"data":{"id":1,"shopId":1,"title":"100 for 10","subTitle":"tonight",` +
		`"rules":"one each","payValue":1000,"actualValue":10000,"currency":"CNY","payWithinSeconds":900,` +
		`"redeemable":true,` +
		`"type":1,"status":1,"stock":5000,"issued":5000,"beginTime":"2026-01-02T20:00:00.000Z",` +
		`"endTime":"2026-01-02T22:00:00.000Z","saleState":"on_sale","createTime":"2026-01-02T12:00:00.000Z",` +
		`"updateTime":"2026-01-02T12:00:00.000Z"}}`
	if diff := cmp.Diff(want, w.Body.String()); diff != "" || w.Code != http.StatusCreated ||
		w.Header().Get("Location") != "/voucher/1" {
		t.Errorf("%d, Location %q, %s", w.Code, w.Header().Get("Location"), diff)
	}
}

func TestVoucherErrors(t *testing.T) {
	t.Parallel()
	for err, code := range map[error]string{
		voucher.ErrNotFound: "NOT_FOUND", order.ErrUnavailable: "UNAVAILABLE", errors.New("x"): "INTERNAL",
		context.DeadlineExceeded: "UNAVAILABLE",
	} {
		a := newAPI(t, func(cfg *setup) {
			cfg.Vouchers = &fakeVouchers{
				Get:    func(int64) (voucher.Shown, error) { return voucher.Shown{}, err },
				OnList: func(int64) ([]voucher.Shown, error) { return nil, err },
			}
		})
		for _, target := range []string{"/voucher/5", "/voucher/list/5"} {
			if got := read(t, do(t, a, request{Method: http.MethodGet, Target: target})); got.Code != code {
				t.Errorf("%s with %v: %s, want %s", target, err, got.Code, code)
			}
		}
	}
}

// A time that JSON cannot represent is an error, not half an answer.
func TestAnswerThatCannotBeRendered(t *testing.T) {
	t.Parallel()
	a := newAPI(t, func(cfg *setup) {
		cfg.Vouchers = &fakeVouchers{Get: func(int64) (voucher.Shown, error) {
			v := seckillVoucher()
			v.Sale.End = time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)
			return v, nil
		}}
	})
	wantProblem(t, do(t, a, request{Method: http.MethodGet, Target: "/voucher/5"}),
		http.StatusInternalServerError, "INTERNAL")
}

func TestFindVouchers(t *testing.T) {
	t.Parallel()
	var got voucher.Search
	a := newAPI(t, func(cfg *setup) {
		cfg.Vouchers = &fakeVouchers{OnAll: func(q voucher.Search) (voucher.Found, error) {
			got = q
			if q.Limit == 1 {
				return voucher.Found{Vouchers: []voucher.Shown{seckillVoucher()}, Next: voucher.MaxID}, nil
			}
			return voucher.Found{Vouchers: []voucher.Shown{seckillVoucher(), ordinaryVoucher()}}, nil
		}}
	})
	both := `{"success":true,"data":[{` + seckillDocument + `},{` + ordinaryDocument +
		`}],"serverTime":"2026-01-02T12:00:00.120Z"}`
	first := `{"success":true,"data":[{` + seckillDocument +
		`}],"next":"9007199254740991","serverTime":"2026-01-02T12:00:00.120Z"}`
	for query, want := range map[string]struct {
		asked voucher.Search
		body  string
	}{
		"":                            {voucher.Search{Before: math.MaxInt64, Limit: 20}, both},
		"?shopId=2&limit=1&before=77": {voucher.Search{ShopID: 2, Before: 77, Limit: 1}, first},
		"?archived=false":             {voucher.Search{Before: math.MaxInt64, Limit: 20}, both},
		"?archived=true&limit=5": {
			voucher.Search{Archived: voucher.WithArchived, Before: math.MaxInt64, Limit: 5}, both,
		},
		"?archived=only&limit=5": {
			voucher.Search{Archived: voucher.OnlyArchived, Before: math.MaxInt64, Limit: 5}, both,
		},
		"?title=%E4%BA%94%25": {voucher.Search{Title: "五%", Before: math.MaxInt64, Limit: 20}, both},
	} {
		w := asAdmin(t, a, request{Method: http.MethodGet, Target: "/admin/voucher" + query})
		if diff := cmp.Diff(want.body, w.Body.String()); diff != "" || w.Code != http.StatusOK || got != want.asked {
			t.Errorf("%q: %d, asked for %+v\n%s", query, w.Code, got, diff)
		}
	}
	for _, query := range []string{
		"?shopId=0", "?limit=101", "?before=x", "?shopId=1&shopId=2", "?a=%zz", "?title=", "?title=%ff",
		"?archived=", "?archived=no",
		"?title=" + strings.Repeat("a", 256),
	} {
		wantProblem(t, asAdmin(t, a, request{Method: http.MethodGet, Target: "/admin/voucher" + query}),
			http.StatusBadRequest, "INVALID")
	}
}

func TestCreateSeckill(t *testing.T) {
	t.Parallel()
	_, status, created := create(t, "/voucher/seckill", object(goodBody()))
	if status != http.StatusCreated || len(created) != 1 {
		t.Fatalf("status %d, created %+v", status, created)
	}
	want := voucher.Voucher{
		ID: 1, ShopID: 1, Title: "100 for 10", SubTitle: "tonight", Rules: "one each", PayValue: 1000,
		ActualValue: 10000, PayWithin: voucher.DefaultPayWithin, Kind: voucher.Seckill, Status: voucher.OnShelf,
		Redemption: voucher.Redemption{ByCode: true}, CreatedAt: noon, UpdatedAt: noon,
		Sale: &voucher.Sale{Stock: 5000, Issued: 5000, Begin: noon.Add(8 * time.Hour), End: noon.Add(10 * time.Hour)},
	}
	if diff := cmp.Diff(want, created[0]); diff != "" {
		t.Error(diff)
	}
}

// A sale may allow several units to a user, once every instance can read their orders.
func TestCreateSeckillPerUser(t *testing.T) {
	t.Parallel()
	body := goodBody()
	body["perUser"] = "3"
	answer, status, created := create(t, "/voucher/seckill", object(body))
	if status != http.StatusCreated || len(created) != 1 || created[0].PerUser != 3 ||
		!strings.Contains(string(answer.Data), `"perUser":3`) {
		t.Errorf("%d %s, created %+v", status, answer.Data, created)
	}
	body["perUser"] = "1"
	if answer, status, created := create(t, "/voucher/seckill", object(body)); status != http.StatusCreated ||
		created[0].PerUser != 0 || strings.Contains(string(answer.Data), "perUser") {
		t.Errorf("one unit: %d %s", status, answer.Data)
	}
}

func TestCreateOrdinary(t *testing.T) {
	t.Parallel()
	answer, status, created := create(t, "/voucher", `{"shopId":1,"title":"x","payValue":0,"actualValue":1}`)
	if status != http.StatusCreated || len(created) != 1 || created[0].Sale != nil || created[0].SubTitle != "" {
		t.Fatalf("%d %s, created %+v", status, answer.Data, created)
	}
	if answer, status, created := create(t, "/voucher",
		`{"shopId":1,"title":"x","payValue":0,"actualValue":1,"perUser":20}`); status != http.StatusCreated ||
		created[0].PerUser != 20 || !strings.Contains(string(answer.Data), `"perUser":20`) {
		t.Errorf("20 to a user: %d %s", status, answer.Data)
	}
	refused, status, created := create(t, "/voucher",
		`{"shopId":1,"title":"x","payValue":0,"actualValue":1,"perUser":21}`)
	if status != http.StatusBadRequest || len(created) != 0 || !slices.Equal(fieldsOf(refused), []string{"perUser"}) {
		t.Errorf("21 to a user: %d %+v", status, refused)
	}
	// The fields of a sale are unknown here: an admin who takes the wrong route notices.
	refused, status, created = create(t, "/voucher", object(goodBody()))
	if status != http.StatusBadRequest || len(created) != 0 {
		t.Fatalf("%d %+v, created %+v", status, refused, created)
	}
	if diff := cmp.Diff([]string{"beginTime", "endTime", "stock"}, fieldsOf(refused)); diff != "" {
		t.Error(diff)
	}
}

func fieldsOf(t response) []string {
	var names []string
	for _, p := range t.Errors {
		names = append(names, p.Field)
	}
	return names
}

// Every field with every wrong value: a clear refusal that names the field, and nothing is created.
func TestFieldsRefuseInvalidValues(t *testing.T) {
	t.Parallel()
	notNumbers := []string{`"1"`, `1.0`, `1.5`, `1e3`, `9223372036854775808`, `-9223372036854775809`, `1` +
		strings.Repeat("0", 400), `null`, `true`, `[]`, `{}`, `[1]`, `{"a":1}`, `""`}
	notText := []string{`1`, `null`, `false`, `[]`, `["a"]`, `{}`, `"` + strings.Repeat("x", 1025) + `"`, `"a\u0000b"`}
	notTimes := []string{
		`1`, `null`, `true`, `[]`, `{}`, `""`, `"now"`, `"2026-01-02"`, `"2026-01-02 20:00:00"`,
		`"2026-13-02T20:00:00.000Z"`, `"2026-02-30T20:00:00"`, `"0001-01-01T00:00:00.000Z"`,
		`"2026-01-02T20:00:00+99:00"`, `"1767384000"`,
	}
	wrong := map[string][]string{
		"shopId":   append([]string{`0`, `-1`, `9007199254740992`}, notNumbers...),
		"title":    append([]string{`""`, `"  "`, `"` + strings.Repeat("券", 256) + `"`}, notText...),
		"subTitle": notText, "rules": notText,
		"payValue": append([]string{`-1`, `100000000001`}, notNumbers...), "actualValue": append([]string{`0`, `-1`},
			notNumbers...),
		"stock":   append([]string{`0`, `-1`, `100000001`}, notNumbers...),
		"perUser": append([]string{`0`, `-1`, `21`}, notNumbers...), "beginTime": notTimes,
		"endTime": append([]string{`"2026-01-02T20:00:00.000Z"`, `"2025-01-01T00:00:00.000Z"`}, notTimes...),
	}
	for field, values := range wrong {
		t.Run(field, func(t *testing.T) {
			t.Parallel()
			for _, value := range values {
				body := goodBody()
				body[field] = value
				got, status, created := create(t, "/voucher/seckill", object(body))
				if status != http.StatusBadRequest || got.Code != "INVALID" || len(created) != 0 {
					t.Errorf("%.40s: status %d, created %+v", value, status, created)
					continue
				}
				p := got.Errors
				if len(p) != 1 || p[0].Field != field || p[0].Reason == "" || p[0].Allowed == "" ||
					len(p[0].Reason) > 200 {
					t.Errorf("%.40s: %+v", value, p)
				}
			}
		})
	}
	if _, status, created := create(t, "/voucher/seckill", object(goodBody())); status != http.StatusCreated ||
		len(created) != 1 {
		t.Errorf("the good body: status %d, created %+v", status, created)
	}
}

func TestMissingFields(t *testing.T) {
	t.Parallel()
	for field := range goodBody() {
		body := goodBody()
		delete(body, field)
		got, status, created := create(t, "/voucher/seckill", object(body))
		if field == "subTitle" || field == "rules" {
			if status != http.StatusCreated {
				t.Errorf("without %s: %d", field, status)
			}
			continue
		}
		if diff := cmp.Diff([]string{field}, fieldsOf(got)); diff != "" ||
			status != http.StatusBadRequest || len(created) != 0 {
			t.Errorf("without %s: %d, %+v", field, status, got.Errors)
		}
	}
	got, _, _ := create(t, "/voucher/seckill", `{}`)
	want := []string{"shopId", "title", "payValue", "actualValue", "stock", "beginTime", "endTime"}
	if diff := cmp.Diff(want, fieldsOf(got)); diff != "" {
		t.Error(diff)
	}
}

// Times without a zone, as the tutorial's frontend sends them, are read in the configured one.
func TestTimesWithoutAZone(t *testing.T) {
	t.Parallel()
	shanghai := time.FixedZone("Asia/Shanghai", 8*60*60)
	body := goodBody()
	body["beginTime"], body["endTime"] = `"2026-01-02T20:00:00"`, `"2026-01-02T23:00:00.5+08:00"`
	_, status, created := create(t, "/voucher/seckill", object(body), func(cfg *setup) { cfg.Zone = shanghai })
	if status != http.StatusCreated {
		t.Fatal(status)
	}
	if got := created[0].Sale.Begin; !got.Equal(time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)) {
		t.Errorf("begin is %s", got)
	}
	if got := created[0].Sale.End; !got.Equal(time.Date(2026, 1, 2, 15, 0, 0, 500_000_000, time.UTC)) {
		t.Errorf("end is %s", got)
	}
}

// A hidden voucher exists for admins only, who read it from the ledger, newest first, whichever else there is.
func TestHiddenFromThePublic(t *testing.T) {
	t.Parallel()
	hidden := seckillVoucher()
	hidden.ID, hidden.VisibleFrom = 5, noon.Add(time.Hour)
	a := newAPI(t, func(cfg *setup) {
		cfg.Vouchers = &fakeVouchers{
			Get: func(int64) (voucher.Shown, error) { return voucher.Shown{}, voucher.ErrNotFound },
			OnAll: func(q voucher.Search) (voucher.Found, error) {
				if q.Before == 6 || q.Before == 8 {
					return voucher.Found{Vouchers: []voucher.Shown{hidden}}, nil
				}
				return voucher.Found{}, nil
			},
		}
	})
	wantProblem(t, do(t, a, request{Method: http.MethodGet, Target: "/voucher/5"}), http.StatusNotFound, "NOT_FOUND")
	if w := asAdmin(t, a, request{Method: http.MethodGet, Target: "/voucher/5"}); w.Code != http.StatusOK ||
		!strings.Contains(w.Body.String(), `"visibleFrom":"2026-01-02T13:00:00.000Z"`) ||
		!strings.Contains(w.Body.String(), `"serverTime"`) {
		t.Errorf("an admin: %d %s", w.Code, w.Body)
	}
	for _, other := range []string{"/voucher/4", "/voucher/7"} {
		wantProblem(t, asAdmin(t, a, request{Method: http.MethodGet, Target: other}), http.StatusNotFound, "NOT_FOUND")
	}
}

// A rehearsal exists for admins and those who buy in it only.
func TestRehearsalIsHidden(t *testing.T) {
	t.Parallel()
	v := seckillVoucher()
	v.ShopID = voucher.RehearsalShop
	a := newAPI(t, shows(v))
	ask := request{Method: http.MethodGet, Target: "/voucher/5"}
	wantProblem(t, do(t, a, ask), http.StatusNotFound, "NOT_FOUND")
	ask.Header = map[string]string{"Authorization": ""}
	wantProblem(t, do(t, a, ask), http.StatusNotFound, "NOT_FOUND")
	ask.Header["Authorization"] = token(t, voucher.FirstRehearsalUser, "")
	if w := do(t, a, ask); w.Code != http.StatusOK {
		t.Errorf("its buyer: %d %s", w.Code, w.Body)
	}
	if w := asAdmin(t, a, request{Method: http.MethodGet, Target: "/voucher/5"}); w.Code != http.StatusOK {
		t.Errorf("an admin: %d %s", w.Code, w.Body)
	}
}

// A voucher that is off the shelf exists for admins only.
func TestOffTheShelf(t *testing.T) {
	t.Parallel()
	off := seckillVoucher()
	off.Status = voucher.OffShelf
	a := newAPI(t, shows(off))
	buyer := request{Method: http.MethodGet, Target: "/voucher/5"}
	wantProblem(t, do(t, a, buyer), http.StatusNotFound, "NOT_FOUND")
	buyer.Header = map[string]string{"Authorization": ""}
	wantProblem(t, do(t, a, buyer), http.StatusNotFound, "NOT_FOUND")
	buyer.Header["Authorization"] = "forged"
	wantProblem(t, do(t, a, buyer), http.StatusNotFound, "NOT_FOUND")
	if w := asAdmin(t, a, request{Method: http.MethodGet, Target: "/voucher/5"}); w.Code != http.StatusOK {
		t.Errorf("an admin: %d %s", w.Code, w.Body)
	}
}

// What a voucher of each kind looks like to clients.
const (
	ordinaryDocument = `"id":1,"shopId":2,"title":"a \u003cb\u003e",` +
		`"subTitle":"","rules":"","payValue":0,"actualValue":100,"currency":"CNY","payWithinSeconds":60,"type":0,` +
		`"status":1,` +
		`"createTime":"2026-01-02T12:00:00.000Z","updateTime":"2026-01-02T12:00:00.000Z"`
	seckillDocument = `"id":9007199254740991,"shopId":2,"title":"券","subTitle":"s",` +
		`"rules":"r","payValue":1000,"actualValue":10000,"currency":"CNY","payWithinSeconds":900,"type":1,` +
		`"status":1,"stock":3,"issued":10,"beginTime":"2026-01-02T12:00:00.000Z",` +
		`"endTime":"2026-01-02T13:00:00.500Z",` +
		`"saleState":"on_sale","createTime":"2026-01-02T12:00:00.000Z","updateTime":"2026-01-02T12:00:00.000Z"`
)
