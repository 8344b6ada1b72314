package webhook

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/authtoken"
	"seckill/internal/feature/webhook/dispatch"
	"seckill/internal/order"
	"seckill/internal/testkit/apitest"
	"seckill/internal/testkit/featuretest"
	"seckill/internal/voucher"
)

// fakeWebhooks has one endpoint and remembers what was asked of it; or it fails.
type fakeWebhooks struct {
	err   error
	asked *[]string
	last  bool // the page of the stream is the last one
}

func fakeEndpoint() dispatch.Endpoint {
	return dispatch.Endpoint{
		ID: 3, Terms: dispatch.Terms{
			ShopID: 1, URL: "https://shop.example/hook", Description: "stock",
			Types: []dispatch.Type{"order.paid"}, Disabled: true,
		},
		Secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", OldSecret: "whsec_old", OldSecretUntil: apitest.Noon(),
		CreatedAt:  apitest.Noon(),
		DisabledAt: apitest.Noon(), DisabledWhy: dispatch.Gone, SuccessAt: apitest.Noon(),
		LastFailure: dispatch.Failure{Code: dispatch.Status, Status: 500},
		Health:      dispatch.Health{Failures: 12, FailingSince: apitest.Noon(), RetryAt: apitest.Noon()},
	}
}

func fakeEvents() []dispatch.Delivery {
	e := dispatch.Event{
		Number: 9, ShopID: 1, Subject: order.SubjectOfOrder(5), SubjectNumber: 2, Type: "order.paid",
		At: apitest.Noon(),
	}
	place := dispatch.Event{
		Number: 8, ShopID: 1, Subject: order.SubjectOfPlace(order.PlaceID{VoucherID: 7, Position: 12}),
		SubjectNumber: 1,
		Type:          dispatch.TypeOfTurn(order.TurnInvited), At: apitest.Noon(),
	}
	return []dispatch.Delivery{{Event: e, State: dispatch.Retrying, Attempts: 2, Failure: dispatch.Failure{
		Code: dispatch.Status, Status: 500,
	}, DueAt: apitest.Noon()}, {Event: place, State: dispatch.Delivered}}
}

func (f fakeWebhooks) note(what string) error {
	if f.asked != nil {
		*f.asked = append(*f.asked, what)
	}
	return f.err
}

func (f fakeWebhooks) CreateEndpoint(
	_ context.Context, t dispatch.Terms, secret dispatch.Secret, _ voucher.Author,
) (dispatch.Endpoint, error) {
	e := fakeEndpoint()
	e.Terms, e.Secret = t, secret
	return e, f.note("create")
}

func (f fakeWebhooks) Endpoint(context.Context, int64) (dispatch.Endpoint, error) {
	return fakeEndpoint(), f.note("find")
}

func (f fakeWebhooks) Endpoints(context.Context) ([]dispatch.Endpoint, error) {
	return []dispatch.Endpoint{fakeEndpoint(), {
			ID: 4, Terms: dispatch.Terms{URL: "https://x.example"}, CreatedAt: apitest.Noon(),
		}},
		f.err
}

func (f fakeWebhooks) ChangeEndpoint(
	_ context.Context, _ int64, a voucher.Action, _ voucher.Author,
	change func(*dispatch.Endpoint, time.Time) error,
) (dispatch.Endpoint, error) {
	e := fakeEndpoint()
	if err := change(&e, apitest.Noon()); err != nil {
		return dispatch.Endpoint{}, err
	}
	what := string(a)
	if a == voucher.Rotated && e.OldSecret == "" {
		what += " at once"
	}
	return e, f.note(what)
}

func (f fakeWebhooks) DeleteEndpoint(context.Context, int64, voucher.Author) error {
	return f.note("delete")
}

func (f fakeWebhooks) Deliveries(_ context.Context, _, _ int64, n int) ([]dispatch.Delivery, int64, error) {
	return page(fakeEvents(), n, f.err)
}

func (f fakeWebhooks) Delivery(
	_ context.Context, _ int64, id dispatch.EventID, before int64,
) ([]dispatch.Delivery, error) {
	return fakeEvents()[:1], f.note(fmt.Sprintf("delivery of %s below %d", id, before))
}

func (f fakeWebhooks) DeadLetters(_ context.Context, _, _ int64, n int) ([]dispatch.Delivery, int64, error) {
	letters := fakeEvents()
	for i := range letters {
		letters[i] = dispatch.Delivery{
			Event: letters[i].Event, State: dispatch.Dead, Attempts: 9, DeadAt: apitest.Noon(),
			Failure: dispatch.Failure{Code: dispatch.Status, Status: 400},
		}
	}
	return page(letters, n, f.err)
}

func page(all []dispatch.Delivery, n int, err error) ([]dispatch.Delivery, int64, error) {
	if len(all) > n {
		return all[:n], all[n-1].Event.Number, err
	}
	return all, 0, err
}

func (f fakeWebhooks) ReplayEvent(_ context.Context, _ int64, id dispatch.EventID, _ voucher.Author) error {
	return f.note("replay " + id.String())
}

func (f fakeWebhooks) ReplayTime(_ context.Context, _ int64, from, to time.Time, _ voucher.Author) (int64, error) {
	return 60, f.note("replay " + from.Format(time.RFC3339) + " " + to.Format(time.RFC3339))
}

func (f fakeWebhooks) Events(_ context.Context, q dispatch.StreamQuery) (dispatch.StreamPage, error) {
	err := f.note(fmt.Sprintf("events of shop %d, %v, %d, end %t, back %t", q.ShopID, q.Types, q.Limit, q.After.End,
		q.Back))
	e := fakeEvents()[0].Event
	e.Body = []byte(`{"version":1,"type":"order.paid","timestamp":"2026-11-11T20:00:00.120Z",` +
		`"subject":{"kind":"order","id":"5"},"number":2,"data":{"id":"5"}}`)
	return dispatch.StreamPage{Events: []dispatch.Event{e}, More: !f.last}, err
}

func (f fakeWebhooks) OpenStream(context.Context) error { return f.err }

// Send sends nothing.
func (fakeWebhooks) Send(context.Context, dispatch.Message) dispatch.Failure {
	return dispatch.Failure{Code: dispatch.Status, Status: 500}
}

// Never says that everything can be reached.
func (fakeWebhooks) Never(*url.URL) dispatch.Failure { return dispatch.Failure{} }

// serve returns an API with the routes on the webhooks.
func serve(t *testing.T, w fakeWebhooks) http.Handler {
	t.Helper()
	return featuretest.Serve(t, routesOn(w), Rules(), apitest.State{})
}

// asAdmin returns the answer to an admin's request.
func asAdmin(t *testing.T, api http.Handler, req apitest.Request) *httptest.ResponseRecorder {
	t.Helper()
	req.Header = map[string]string{"Authorization": apitest.Token(t, apitest.AdminID, authtoken.RoleAdmin)}
	w := httptest.NewRecorder()
	api.ServeHTTP(w, req.HTTP(t, t.Context()))
	return w
}

// A secret is shown when it is made, and never again.
func TestWebhookSecretsAreShownOnce(t *testing.T) {
	t.Parallel()
	a := serve(t, fakeWebhooks{})
	for _, c := range []struct {
		req   apitest.Request
		shown bool
	}{
		{
			apitest.Request{
				Method: http.MethodPost, Target: "/admin/webhook",
				Body: `{"shopId":1,"url":"https://shop.example/hook","types":"order.paid, order.redeemed"}`,
			}, true,
		},
		{apitest.Request{Method: http.MethodPost, Target: "/admin/webhook/3/rotate", Body: `{}`}, true},
		{apitest.Request{Method: http.MethodPatch, Target: "/admin/webhook/3", Body: `{"disabled":false}`}, false},
		{apitest.Request{Method: http.MethodGet, Target: "/admin/webhook"}, false},
		{apitest.Request{Method: http.MethodGet, Target: "/admin/webhook/3"}, false},
	} {
		res := asAdmin(t, a, c.req)
		if shown := strings.Contains(res.Body.String(), "whsec_"); res.Code/100 != 2 || shown != c.shown ||
			strings.Contains(res.Body.String(), "whsec_old") {
			t.Errorf("%s %s: %d %s", c.req.Method, c.req.Target, res.Code, res.Body)
		}
	}
}

func TestWebhookInputs(t *testing.T) {
	t.Parallel()
	var asked []string
	a := serve(t, fakeWebhooks{asked: &asked})
	for _, c := range []struct{ target, body, field string }{
		{"/admin/webhook", `{"shopId":1}`, "url"},
		{"/admin/webhook", `{"shopId":-1,"url":"https://x.example"}`, "shopId"},
		{"/admin/webhook", `{"shopId":1,"url":"ftp://x.example"}`, "url"},
		{"/admin/webhook", `{"shopId":1,"url":"https://u:p@x.example"}`, "url"},
		{"/admin/webhook", `{"shopId":1,"url":"https://x.example","types":"order.paid,order.lost"}`, "types"},
		{"/admin/webhook", `{"shopId":1,"url":"https://x.example","types":"order.paid,order.paid"}`, "types"},
		{"/admin/webhook", `{"shopId":1,"url":"https://x.example","description":"` +
			strings.Repeat("x", 201) + `"}`, "description"},
		{"/admin/webhook/3/replay", `{}`, "eventId"},
		{"/admin/webhook/3/replay", `{"eventId":"order-5-1","from":"2026-01-02T20:00:00.000Z"}`, "eventId"},
		{"/admin/webhook/3/replay", `{"eventId":"5"}`, "eventId"},
		{"/admin/webhook/0/test", ``, "id"},
	} {
		res := asAdmin(t, a, apitest.Request{Method: http.MethodPost, Target: c.target, Body: c.body})
		if res.Code != http.StatusBadRequest || !strings.Contains(res.Body.String(), `"field":"`+c.field+`"`) {
			t.Errorf("%s %s: %d %s, want a problem with %s", c.target, c.body, res.Code, res.Body, c.field)
		}
	}
	for _, body := range []string{
		`{"eventId":"order-5-1"}`, `{"from":"2026-01-02T20:00:00.000Z"}`,
		`{"from":"2026-01-02T20:00:00.000Z","to":"2026-01-02T21:00:00"}`,
	} {
		if res := asAdmin(t, a, apitest.Request{
			Method: http.MethodPost, Target: "/admin/webhook/3/replay", Body: body,
		}); res.Code != http.StatusAccepted {
			t.Errorf("%s: %d %s", body, res.Code, res.Body)
		}
	}
	asAdmin(t, a, apitest.Request{Method: http.MethodPost, Target: "/admin/webhook/3/rotate", Body: `{"atOnce":true}`})
	want := []string{
		"replay order-5-1", "replay 2026-01-02T20:00:00Z 2106-02-07T06:28:14Z", // after everything
		"replay 2026-01-02T20:00:00Z 2026-01-02T21:00:00Z", string(voucher.Rotated) + " at once",
	}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}

// A merchant's endpoint gets the events of their shop; one for another shop, or for all, is refused.
func TestMerchantsHaveTheirShopsEvents(t *testing.T) {
	t.Parallel()
	api := featuretest.Serve(t, routesOn(fakeWebhooks{}), Rules(), apitest.State{})
	for shop, want := range map[int]string{
		apitest.ShopID: `"shopId":9`, 0: `"code":"NOT_FOUND"`, 1: `"code":"NOT_FOUND"`,
	} {
		w := httptest.NewRecorder()
		api.ServeHTTP(w, apitest.Request{
			Method: http.MethodPost, Target: "/admin/webhook",
			Body:   fmt.Sprintf(`{"shopId":%d,"url":"https://shop.example/hook"}`, shop),
			Header: map[string]string{"Authorization": apitest.MerchantToken(t, apitest.ShopID)},
		}.HTTP(t, t.Context()))
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("for shop %d: %d %s, want %s", shop, w.Code, w.Body, want)
		}
	}
}

// The stream is read forth or back, and one event's delivery by its id.
func TestEventQueries(t *testing.T) {
	t.Parallel()
	var asked []string
	a := serve(t, fakeWebhooks{asked: &asked, last: true})
	for target, want := range map[string]struct {
		status int
		holds  string
	}{
		"/admin/event":                                 {http.StatusOK, `"next":"`},
		"/admin/event?before=end&limit=2":              {http.StatusOK, `"shopId":1`},
		"/admin/event?before=end&after=end":            {http.StatusBadRequest, `"code":"BESIDE_OTHER"`},
		"/admin/event?before=7":                        {http.StatusBadRequest, `"field":"before"`},
		"/admin/webhook/3/delivery?eventId=order-5-2":  {http.StatusOK, `"eventId":"order-5-2"`},
		"/admin/webhook/3/delivery?eventId=order":      {http.StatusBadRequest, `"field":"eventId"`},
		"/admin/webhook/3/delivery?eventId=&eventId=":  {http.StatusBadRequest, `"REPEATED"`},
		"/admin/webhook/3/deadletter?eventId=order-52": {http.StatusBadRequest, `"eventId"`},
	} {
		res := asAdmin(t, a, apitest.Request{Method: http.MethodGet, Target: target})
		if res.Code != want.status || !strings.Contains(res.Body.String(), want.holds) {
			t.Errorf("%s: %d %s", target, res.Code, res.Body)
		}
		if strings.Contains(target, "end&limit") && strings.Contains(res.Body.String(), `"next"`) {
			t.Errorf("%s: %s has a next page", target, res.Body)
		}
	}
	slices.Sort(asked)
	want := []string{
		"delivery of order-5-2 below 9223372036854775807", "events of shop 0, [], 20, end false, back false",
		"events of shop 0, [], 2, end true, back true",
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}
