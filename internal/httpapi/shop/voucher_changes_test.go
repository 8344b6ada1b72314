package shop_test

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/kit/idempotency"
	"seckill/internal/kit/invalid"
	"seckill/internal/order"
	"seckill/internal/voucher"
)

func withChanges(f fakeChanges) func(*setup) { return func(cfg *setup) { cfg.VoucherChanges = f } }

// voucherActionRequests are requests that change a voucher, each a good one.
var voucherActionRequests = []request{
	{Method: http.MethodPatch, Target: "/voucher/5", Body: `{"title":"x"}`},
	{
		Method: http.MethodPost, Target: "/voucher/5/stock", Body: `{"delta":-3}`,
		Header: map[string]string{"Idempotency-Key": "k-1"},
	},
	{Method: http.MethodPost, Target: "/voucher/5/pause"},
	{Method: http.MethodPost, Target: "/voucher/5/resume"},
}

func TestVoucherActions(t *testing.T) {
	t.Parallel()
	for _, req := range voucherActionRequests {
		for behind, status := range map[bool]int{false: http.StatusOK, true: http.StatusAccepted} {
			called := 0
			expect := func(by voucher.Author, id int64, rest ...any) error {
				called++
				if by != (voucher.Author{AdminID: 7, Request: "r-1"}) || id != 5 ||
					len(rest) > 0 && (rest[0] != int64(-3) || rest[1] != "k-1") {
					return fmt.Errorf("called with %+v, %d, %v", by, id, rest)
				}
				return nil
			}
			a := newAPI(t, withChanges(fakeChanges{
				Behind:   behind,
				OnChange: func(by voucher.Author, id int64, _ voucher.Change) error { return expect(by, id) },
				OnAddStock: func(by voucher.Author, id, delta int64, key string) error {
					return expect(by, id, delta, key)
				},
				OnPause:  func(by voucher.Author, id int64) error { return expect(by, id) },
				OnResume: func(by voucher.Author, id int64) error { return expect(by, id) },
			}))
			req.Header = maps.Clone(req.Header)
			if req.Header == nil {
				req.Header = map[string]string{}
			}
			req.Header["X-Request-Id"] = "r-1"
			w := asAdmin(t, a, req)
			if diff := cmp.Diff(`{"success":true,"data":{`+seckillDocument+`}}`, w.Body.String()); diff != "" ||
				w.Code != status || called != 1 {
				t.Errorf("%s %s: %d, called %d times, %s", req.Method, req.Target, w.Code, called, diff)
			}
		}
	}
}

func TestVoucherActionRefusals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err    error
		status int
		code   string
		data   string
	}{
		{voucher.ErrNotFound, 404, "NOT_FOUND", ""},
		{voucher.ErrNotSeckill, 409, "NOT_SECKILL", ""},
		{voucher.ErrArchived, 409, "ARCHIVED", ""},
		{voucher.ErrRetired, 403, "ENDED", ""},
		{idempotency.ErrReused, 409, "KEY_REUSED", ""},
		{&voucher.InsufficientStockError{Delta: -5, Left: 3}, 409, "INSUFFICIENT_STOCK", `{"left":3}`},
		{voucher.ErrUndecided, 504, "UNKNOWN_OUTCOME", ""},
		{fmt.Errorf("%w: %w", voucher.ErrUndecided, order.ErrUnavailable), 504, "UNKNOWN_OUTCOME", ""},
		// Made void, and then too late.
		{fmt.Errorf("%w: %w", voucher.ErrUndecided, voucher.ErrRetired), 403, "ENDED", ""},
		{&invalid.Error{Problems: []invalid.Problem{{Field: "delta"}}}, 400, "INVALID", ""},
		{order.ErrUnavailable, 503, "UNAVAILABLE", ""},
		{errors.New("driver: secret detail"), 500, "INTERNAL", ""},
	} {
		t.Run(c.code+" "+c.err.Error(), func(t *testing.T) {
			t.Parallel()
			err := fmt.Errorf("as adapters do: %w", c.err)
			a := newAPI(t, withChanges(fakeChanges{
				OnChange:   func(voucher.Author, int64, voucher.Change) error { return err },
				OnAddStock: func(voucher.Author, int64, int64, string) error { return err },
				OnPause:    func(voucher.Author, int64) error { return err },
				OnResume:   func(voucher.Author, int64) error { return err },
			}))
			for _, req := range voucherActionRequests {
				w := asAdmin(t, a, req)
				got := wantProblem(t, w, c.status, c.code)
				if string(got.Data) != c.data || strings.Contains(w.Body.String(), "secret detail") {
					t.Errorf("%s %s: %s", req.Method, req.Target, w.Body)
				}
				if c.code == "UNKNOWN_OUTCOME" && !strings.Contains(got.Detail, "Idempotency-Key") {
					t.Errorf("detail is %q", got.Detail)
				}
			}
		})
	}
}

func TestChangeVoucherReadsItsFields(t *testing.T) {
	t.Parallel()
	begin, end := noon.Add(time.Hour), noon.Add(2*time.Hour)
	for body, want := range map[string]voucher.Change{
		`{}`: {},
		`{"title":"a","subTitle":"","rules":"r"}`: {Title: new("a"), SubTitle: new(""), Rules: new("r")},
		`{"beginTime":"2026-01-02T13:00:00Z"}`:    {Begin: &begin},
		`{"endTime":"2026-01-02T22:00:00"}`:       {End: &end}, // in the configured zone
		`{"status":1}`:                            {OnShelf: new(true)},
		`{"status":2}`:                            {OnShelf: new(false)},
		`{"picture":"https://img.example/1.png"}`: {Picture: new("https://img.example/1.png")},
		`{"picture":""}`:                          {Picture: new("")},
		`{"picture":"https://old.example/1.png"}`: {
			Picture: new("https://old.example/1.png"), Elsewhere: new(invalid.Problem{Field: "picture"}),
		},
	} {
		var got voucher.Change
		a := newAPI(t, withChanges(fakeChanges{
			OnChange: func(_ voucher.Author, _ int64, c voucher.Change) error { got = c; return nil },
		}),
			func(cfg *setup) { cfg.PictureHosts = []string{"img.example"} },
			func(cfg *setup) { cfg.Zone = time.FixedZone("Asia/Shanghai", 8*60*60) })
		if w := asAdmin(t, a,
			request{Method: http.MethodPatch, Target: "/voucher/5", Body: body}); w.Code != http.StatusOK {
			t.Errorf("%s: %d %s", body, w.Code, w.Body)
		}
		sameField := cmp.Comparer(func(a, b invalid.Problem) bool { return a.Field == b.Field })
		if diff := cmp.Diff(want, got, sameField); diff != "" {
			t.Errorf("%s: change (-want +got):\n%s", body, diff)
		}
	}
}

func TestVoucherActionsRefuseInvalidInput(t *testing.T) {
	t.Parallel()
	a := newAPI(t, withChanges(fakeChanges{
		OnChange: func(_ voucher.Author, _ int64, c voucher.Change) error { t.Errorf("changed %+v", c); return nil },
		OnAddStock: func(_ voucher.Author, _, delta int64, key string) error {
			t.Errorf("added %d, %q", delta, key)
			return nil
		},
	}))
	for _, c := range []struct {
		method, target, key, body string
		fields                    []string
		reason                    string // of the first
	}{
		{"PATCH", "/voucher/5", "", `{"payValue":1,"shopId":2}`, []string{"payValue", "shopId"}, "never changes"},
		{
			"PATCH", "/voucher/5", "", `{"id":1,"actualValue":1,"currency":"EUR","payWithinSeconds":1,"type":1}`,
			[]string{"id", "actualValue", "currency", "payWithinSeconds", "type"},
			"never changes",
		},
		{"PATCH", "/voucher/5", "", `{"stock":1}`, []string{"stock"}, "is changed by POST /voucher/:id/stock"},
		{"PATCH", "/voucher/5", "", `{"colour":"red"}`, []string{"colour"}, "is not known here"},
		{"PATCH", "/voucher/5", "", `{"title":null}`, []string{"title"}, "is of the JSON type null"},
		{"PATCH", "/voucher/5", "", `{"title":"a","title":"b"}`, []string{"title"}, "is given several times"},
		{"PATCH", "/voucher/5", "", `{"status":3}`, []string{"status"}, "is 3"},
		{"PATCH", "/voucher/5", "", `{"status":0}`, []string{"status"}, "is 0"},
		{"PATCH", "/voucher/5", "", `{"status":257}`, []string{"status"}, "is 257"}, // 1 in eight bits
		{"PATCH", "/voucher/5", "", `{"status":"on"}`, []string{"status"}, "is of the JSON type string"},
		{"PATCH", "/voucher/5", "", `{"beginTime":"soon","endTime":1}`, []string{"beginTime", "endTime"}, `is "soon"`},
		{"PATCH", "/voucher/5", "", ``, []string{"Content-Type"}, "is missing"},
		{"PATCH", "/voucher/x", "", `{}`, []string{"id"}, `is "x"`},
		{"POST", "/voucher/5/stock", "k", `{}`, []string{"delta"}, "is missing"},
		{
			"POST", "/voucher/5/stock", "k", `{"delta":1.5}`, []string{
				"delta",
			}, "is 1.5, a fraction or a number with an exponent",
		},
		{"POST", "/voucher/5/stock", "k", `{"delta":1,"stock":2}`, []string{"stock"}, "is not known here"},
		{"POST", "/voucher/5/stock", "", `{"delta":1}`, []string{"Idempotency-Key"}, "is missing"},
		{"POST", "/voucher/5/stock", "a b", `{"delta":1}`, []string{"Idempotency-Key"}, `is "a b"`},
		{"POST", "/voucher/0/stock", "", `{"delta":1}`, []string{"id", "Idempotency-Key"}, `is "0"`},
		{"POST", "/voucher/x/pause", "", ``, []string{"id"}, `is "x"`},
		{"POST", "/voucher/seckill/resume", "", ``, []string{"id"}, `is "resume"`}, // a purchase's path
	} {
		w := asAdmin(t, a, request{
			Method: c.method, Target: c.target, Body: c.body, Header: map[string]string{"Idempotency-Key": c.key},
		})
		got := wantProblem(t, w, http.StatusBadRequest, "INVALID")
		if diff := cmp.Diff(c.fields, fieldsOf(got)); diff != "" || got.Errors[0].Reason != c.reason ||
			got.Errors[0].Allowed == "" {
			t.Errorf("%s %s %s: %s%+v", c.method, c.target, c.body, diff, got.Errors)
		}
	}
	// The refusal lists what may be changed, and not what may not.
	got := read(t, asAdmin(t, a, request{Method: http.MethodPatch, Target: "/voucher/5", Body: `{"x":1}`}))
	if allowed := got.Errors[0].Allowed; allowed != "title, subTitle, rules, picture, beginTime, "+
		"endTime, visibleFrom, status, guards" {
		t.Errorf("allowed: %s", allowed)
	}
}

// How long an order may stay unpaid is given in whole seconds when a voucher is created, if at all.
func TestPayWithin(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]time.Duration{
		"": 15 * time.Minute, "1": time.Second, "900": 15 * time.Minute, "2592000": 30 * 24 * time.Hour,
		"0": 0, "-1": 0, "2592001": 0, "1.5": 0, `"900"`: 0, "null": 0, "9223372036854775807": 0, "9223372037": 0,
		"-9223372036854775808": 0, "18446744074": 0,
	} {
		body := goodBody()
		if value != "" {
			body["payWithinSeconds"] = value
		}
		got, status, created := create(t, "/voucher/seckill", object(body))
		switch {
		case want > 0 && (status != http.StatusCreated || created[0].PayWithin != want):
			t.Errorf("%s: %d %+v, created %+v", value, status, got.Errors, created)
		case want == 0 && (status != http.StatusBadRequest || !cmp.Equal(fieldsOf(got), []string{"payWithinSeconds"}) ||
			len(created) != 0):
			t.Errorf("%s: %d %+v, created %+v", value, status, got.Errors, created)
		}
	}
}

// The route says what kind of voucher is created; a type in the body must agree.
func TestTypeAgreesWithTheRoute(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ target, given, wrong string }{
		{"/voucher/seckill", `1`, ""},
		{"/voucher/seckill", `0`, "is 0"},
		{"/voucher/seckill", `257`, "is 257"}, // 1 in eight bits
		{"/voucher/seckill", `"1"`, "is of the JSON type string"},
		{"/voucher", `0`, ""},
		{"/voucher", `1`, "is 1"},
	} {
		body := goodBody()
		body["type"] = c.given
		if c.target == "/voucher" {
			for _, name := range []string{"stock", "beginTime", "endTime"} {
				delete(body, name)
			}
		}
		got, status, _ := create(t, c.target, object(body))
		switch {
		case c.wrong == "" && status != http.StatusCreated:
			t.Errorf("%s with %s: %d %+v", c.target, c.given, status, got.Errors)
		case c.wrong != "" && (status != http.StatusBadRequest || !cmp.Equal(fieldsOf(got), []string{"type"}) ||
			got.Errors[0].Reason != c.wrong):
			t.Errorf("%s with %s: %d %+v, want type %s", c.target, c.given, status, got.Errors, c.wrong)
		}
	}
}

// Archiving and restoring are one call each; the answer is the voucher, with when it was archived. The public does not
// see it by its id either.
func TestArchive(t *testing.T) {
	t.Parallel()
	for path, archived := range map[string]bool{"archive": true, "restore": false} {
		called := 0
		a := newAPI(t, withChanges(fakeChanges{Archive: func(by voucher.Author, id int64, to bool) error {
			called++
			if by.AdminID != 7 || id != 5 || to != archived {
				return fmt.Errorf("called with %+v, %d, %v", by, id, to)
			}
			return nil
		}}))
		w := asAdmin(t, a, request{Method: http.MethodPost, Target: "/voucher/5/" + path})
		if w.Code != http.StatusOK || called != 1 || !strings.Contains(w.Body.String(), seckillDocument) {
			t.Errorf("%s: %d, called %d times, %s", path, w.Code, called, w.Body)
		}
	}
	v := seckillVoucher()
	v.Archived = noon
	a := newAPI(t, func(cfg *setup) {
		cfg.Listings = fakeListings{FakeVouchers: &fakeVouchers{
			Get: func(int64) (voucher.Shown, error) { return v, nil },
		}}
	})
	one := request{Method: http.MethodGet, Target: "/voucher/5"}
	if w := asAdmin(t, a, one); w.Code != http.StatusOK ||
		!strings.Contains(w.Body.String(), `"archiveTime":"2026-01-02T12:00:00.000Z"`) {
		t.Errorf("for an admin: %d %s", w.Code, w.Body)
	}
	if w := do(t, a, one); w.Code != http.StatusNotFound {
		t.Errorf("for the public: %d %s", w.Code, w.Body)
	}
}
