package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"seckill/internal/feature/rehearsal"
	"seckill/internal/feature/template"
	"seckill/internal/guard"
	"seckill/internal/httpapi/httpkit"
	"seckill/internal/preflight"
	"seckill/internal/voucher"
)

// fakeTemplates has one template, of a sale, or fails.
type fakeTemplates struct{ err error }

func oneTemplate() template.Template {
	v := seckillVoucher().Voucher
	v.VisibleFrom = v.Sale.Begin.Add(-time.Hour)
	v.Sale.OfferWithin = time.Minute
	v.Sale.Guards = &guard.Settings{Limits: &guard.Limits{PerUser: &guard.Rate{Requests: 5, Seconds: 10}}}
	t := template.Of(v, "Evening")
	t.ID, t.CreatedAt = 3, noon
	return t
}

// List returns it.
func (f fakeTemplates) List(context.Context, int64) ([]template.Template, error) {
	return []template.Template{oneTemplate()}, f.err
}

// Save returns it.
func (f fakeTemplates) Save(context.Context, voucher.Author, int64, string) (template.Template, error) {
	return oneTemplate(), f.err
}

// Rename returns it.
func (f fakeTemplates) Rename(context.Context, voucher.Author, int64, string) (template.Template, error) {
	return oneTemplate(), f.err
}

// Delete does nothing.
func (f fakeTemplates) Delete(context.Context, voucher.Author, int64) error { return f.err }

// fakeRehearsals has one that is done, or fails.
type fakeRehearsals struct{ err error }

func oneRun() rehearsal.Run {
	return rehearsal.Run{
		VoucherID: 8, Of: 5, AdminID: adminID, Begin: noon.Add(-time.Minute), End: noon, ReportedAt: noon, Done: true,
		Figures: preflight.Figures{
			Stock: 40, Buyers: 200, Arrived: 200, Requests: 210, Accepted: 40, SoldOut: 900 * time.Millisecond,
			P99: 8 * time.Millisecond,
		},
	}
}

// Start starts it.
func (f fakeRehearsals) Start(context.Context, voucher.Author, int64) (voucher.Shown, error) {
	return seckillVoucher(), f.err
}

// Of returns it.
func (f fakeRehearsals) Of(context.Context, int64) ([]rehearsal.Run, error) {
	return []rehearsal.Run{oneRun()}, f.err
}

// End returns it.
func (f fakeRehearsals) End(context.Context, voucher.Author, int64) (rehearsal.Run, error) {
	return oneRun(), f.err
}

// Find returns it.
func (f fakeRehearsals) Find(context.Context, int64) (rehearsal.Run, error) { return oneRun(), f.err }

// Report takes everything.
func (f fakeRehearsals) Report(context.Context, int64, preflight.Figures, bool) error { return f.err }

// featureRoutes are those of all features on fakes, which fail with err if it is not nil.
func featureRoutes(err error) []httpkit.Route {
	bodies := httpkit.Bodies{Limit: testBodyLimit}
	return slices.Concat(
		template.Routes(fakeTemplates{err}, bodies),
		rehearsal.Routes(fakeRehearsals{err}, rehearsal.HTTP{
			Orders: OrderPages(fakeOrders{}), Bodies: bodies, Now: func() time.Time { return noon },
		}))
}

// featureRules are those of all features.
func featureRules() []httpkit.Rule { return slices.Concat(template.Rules(), rehearsal.Rules()) }

// everyRule is the error table of a service with all features.
func everyRule() []httpkit.Rule { return slices.Concat(rules(), featureRules()) }

// What a template shows creates its voucher, once the times are added.
func TestTemplateIsADraft(t *testing.T) {
	t.Parallel()
	w := asAdmin(t, newAPI(t), request{method: http.MethodGet, target: "/admin/template"})
	var got struct {
		Data []struct {
			Name    string
			Voucher map[string]json.RawMessage
			Lasts   int64 `json:"lastsSeconds"`
			Seen    int64 `json:"visibleBeforeSeconds"`
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || len(got.Data) != 1 {
		t.Fatalf("%v: %s", err, w.Body)
	}
	one := got.Data[0]
	of := oneTemplate()
	if one.Name != "Evening" || one.Lasts != int64(of.Lasts/time.Second) || one.Lasts == 0 || one.Seen != 3600 {
		t.Errorf("%+v", one)
	}
	one.Voucher["beginTime"], one.Voucher["endTime"] = json.RawMessage(`"2026-01-02T20:00:00Z"`),
		json.RawMessage(`"2026-01-02T21:00:00Z"`)
	body, err := json.Marshal(one.Voucher)
	if err != nil {
		t.Fatal(err)
	}
	answer, status, created := create(t, "/voucher/seckill", string(body))
	if status != http.StatusCreated || len(created) != 1 {
		t.Fatalf("%d %+v", status, answer)
	}
	v := created[0]
	if v.Title != of.Voucher.Title || v.Sale.Issued != of.Voucher.Sale.Issued || v.Sale.OfferWithin != time.Minute ||
		v.PayWithin != of.Voucher.PayWithin || !strings.Contains(v.Sale.Guards.Text(), `"requests":5`) {
		t.Errorf("created %+v, %+v", v, v.Sale)
	}
}

// The forecast of a rehearsal is in the caller's language.
func TestRehearsalInTwoLanguages(t *testing.T) {
	t.Parallel()
	for language, says := range map[string]string{
		"en": "40 units within 900 ms of the first press", "zh-CN": "40 份在首次点击后 900 毫秒内售罄",
	} {
		w := asAdmin(t, newAPI(t), request{
			method: http.MethodGet, target: "/admin/voucher/5/rehearsal",
			header: map[string]string{"Accept-Language": language},
		})
		if !strings.Contains(w.Body.String(), says) || !strings.Contains(w.Body.String(), `"go":true`) ||
			!strings.HasPrefix(w.Header().Get("Content-Language"), language[:2]) {
			t.Errorf("%s: %v %s", language, w.Header(), w.Body)
		}
	}
}
