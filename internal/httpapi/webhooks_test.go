package httpapi

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/voucher"
	"seckill/internal/webhook"
)

// fakeWebhooks has one endpoint and remembers what was asked of it; or it fails.
type fakeWebhooks struct {
	err   error
	asked *[]string
}

func fakeEndpoint() webhook.Endpoint {
	return webhook.Endpoint{
		ID: 3, Terms: webhook.Terms{
			ShopID: 1, URL: "https://shop.example/hook", Description: "stock",
			Types: []webhook.Type{"order.paid"}, Disabled: true,
		},
		Secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", OldSecret: "whsec_old", OldSecretUntil: noon, CreatedAt: noon,
		DisabledAt: noon, DisabledWhy: webhook.Gone, SuccessAt: noon,
		LastFailure: webhook.Failure{Code: webhook.Status, Status: 500},
		Health:      webhook.Health{Failures: 12, FailingSince: noon, RetryAt: noon},
	}
}

func fakeEvents() []webhook.Delivery {
	e := webhook.Event{Number: 9, ShopID: 1, OrderID: orderID, OrderNumber: 2, Type: "order.paid", At: noon}
	offer := webhook.Event{
		Number: 8, ShopID: 1, OrderID: webhook.OfferID{VoucherID: 7, Position: 12}.Key(), OrderNumber: 1,
		Type: webhook.OfferMade, At: noon,
	}
	return []webhook.Delivery{{Event: e, State: webhook.Retrying, Attempts: 2, Failure: webhook.Failure{
		Code: webhook.Status, Status: 500,
	}, DueAt: noon}, {Event: offer, State: webhook.Delivered}}
}

func (f fakeWebhooks) note(what string) error {
	if f.asked != nil {
		*f.asked = append(*f.asked, what)
	}
	return f.err
}

func (f fakeWebhooks) Create(_ context.Context, t webhook.Terms, _ voucher.Author) (webhook.Endpoint, error) {
	if err := t.Check(); err != nil {
		return webhook.Endpoint{}, err
	}
	e := fakeEndpoint()
	e.Terms = t
	return e, f.note("create")
}

func (f fakeWebhooks) List(context.Context) ([]webhook.Endpoint, error) {
	return []webhook.Endpoint{fakeEndpoint(), {ID: 4, Terms: webhook.Terms{URL: "https://x.example"}, CreatedAt: noon}},
		f.err
}

func (f fakeWebhooks) Change(
	_ context.Context, _ int64, change func(*webhook.Terms), _ voucher.Author,
) (webhook.Endpoint, error) {
	e := fakeEndpoint()
	change(&e.Terms)
	if err := e.Check(); err != nil {
		return webhook.Endpoint{}, err
	}
	return e, f.note("change")
}

func (f fakeWebhooks) Rotate(_ context.Context, _ int64, atOnce bool, _ voucher.Author) (webhook.Endpoint, error) {
	what := "rotate"
	if atOnce {
		what += " at once"
	}
	return fakeEndpoint(), f.note(what)
}

func (f fakeWebhooks) Delete(context.Context, int64, voucher.Author) error { return f.note("delete") }

func (f fakeWebhooks) Test(context.Context, int64) (webhook.TestResult, error) {
	return webhook.TestResult{
		ID: "test-1", Took: 20 * time.Millisecond, Failure: webhook.Failure{Code: webhook.Status, Status: 500},
	}, f.err
}

func (f fakeWebhooks) Deliveries(_ context.Context, _, _ int64, n int) ([]webhook.Delivery, error) {
	return fakeEvents()[:min(n, 2)], f.err
}

func (f fakeWebhooks) DeadLetters(_ context.Context, _, _ int64, n int) ([]webhook.DeadLetter, error) {
	e := fakeEvents()[0].Event
	return []webhook.DeadLetter{
		{Number: 9, Attempts: 9, Failure: webhook.Failure{Code: webhook.Status, Status: 400}, At: noon, Event: e},
		{Number: 8, Attempts: 9, At: noon, Event: e},
	}[:min(n, 2)], f.err
}

func (f fakeWebhooks) ReplayEvent(_ context.Context, _ int64, id string, _ voucher.Author) error {
	if _, err := webhook.ParseEventID(id); err != nil {
		return err
	}
	return f.note("replay " + id)
}

func (f fakeWebhooks) ReplayTime(_ context.Context, _ int64, from, to time.Time, _ voucher.Author) (int64, error) {
	return 60, f.note("replay " + from.Format(time.RFC3339) + " " + to.Format(time.RFC3339))
}

// A secret is shown when it is made, and never again.
func TestWebhookSecretsAreShownOnce(t *testing.T) {
	t.Parallel()
	a := newAPI(t, func(cfg *Config) { cfg.Webhooks = fakeWebhooks{} })
	for _, c := range []struct {
		req   request
		shown bool
	}{
		{
			request{
				method: http.MethodPost, target: "/admin/webhook",
				body: `{"shopId":1,"url":"https://shop.example/hook","types":"order.paid, order.redeemed"}`,
			}, true,
		},
		{request{method: http.MethodPost, target: "/admin/webhook/3/rotate", body: `{}`}, true},
		{request{method: http.MethodPatch, target: "/admin/webhook/3", body: `{"disabled":false}`}, false},
		{request{method: http.MethodGet, target: "/admin/webhook"}, false},
	} {
		res := asAdmin(t, a, c.req)
		if shown := strings.Contains(res.Body.String(), "whsec_"); res.Code/100 != 2 || shown != c.shown ||
			strings.Contains(res.Body.String(), "whsec_old") {
			t.Errorf("%s %s: %d %s", c.req.method, c.req.target, res.Code, res.Body)
		}
	}
}

func TestWebhookInputs(t *testing.T) {
	t.Parallel()
	var asked []string
	a := newAPI(t, func(cfg *Config) { cfg.Webhooks = fakeWebhooks{asked: &asked} })
	for _, c := range []struct{ target, body, field string }{
		{"/admin/webhook", `{"shopId":1}`, "url"},
		{"/admin/webhook", `{"shopId":-1,"url":"https://x.example"}`, "shopId"},
		{"/admin/webhook", `{"shopId":1,"url":"ftp://x.example"}`, "url"},
		{"/admin/webhook", `{"shopId":1,"url":"https://u:p@x.example"}`, "url"},
		{"/admin/webhook", `{"shopId":1,"url":"https://x.example","types":"order.paid,order.lost"}`, "types"},
		{"/admin/webhook", `{"shopId":1,"url":"https://x.example","types":"order.paid,order.paid"}`, "types"},
		{"/admin/webhook", `{"shopId":1,"url":"https://x.example","description":"` +
			strings.Repeat("x", 201) + `"}`, "description"},
		{"/admin/webhook/3/replay", `{}`, "event"},
		{"/admin/webhook/3/replay", `{"event":"order-5-1","from":"2026-01-02T20:00:00Z"}`, "event"},
		{"/admin/webhook/3/replay", `{"event":"5"}`, "event"},
		{"/admin/webhook/0/delete", ``, "id"},
	} {
		res := asAdmin(t, a, request{method: http.MethodPost, target: c.target, body: c.body})
		if res.Code != http.StatusBadRequest || !strings.Contains(res.Body.String(), `"field":"`+c.field+`"`) {
			t.Errorf("%s %s: %d %s, want a problem with %s", c.target, c.body, res.Code, res.Body, c.field)
		}
	}
	for _, body := range []string{
		`{"event":"order-5-1"}`, `{"from":"2026-01-02T20:00:00Z"}`,
		`{"from":"2026-01-02T20:00:00Z","to":"2026-01-02T21:00:00"}`,
	} {
		if res := asAdmin(t, a, request{
			method: http.MethodPost, target: "/admin/webhook/3/replay", body: body,
		}); res.Code != http.StatusAccepted {
			t.Errorf("%s: %d %s", body, res.Code, res.Body)
		}
	}
	asAdmin(t, a, request{method: http.MethodPost, target: "/admin/webhook/3/rotate", body: `{"atOnce":true}`})
	want := []string{
		"replay order-5-1", "replay 2026-01-02T20:00:00Z 0001-01-01T00:00:00Z",
		"replay 2026-01-02T20:00:00Z 2026-01-02T21:00:00Z", "rotate at once",
	}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}
