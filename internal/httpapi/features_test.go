package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"seckill/internal/feature"
	"seckill/internal/feature/rehearsal"
	"seckill/internal/feature/report"
	"seckill/internal/feature/template"
	"seckill/internal/guard"
	"seckill/internal/httpapi/httpkit"
	"seckill/internal/order"
	"seckill/internal/order/waitlist"
	"seckill/internal/voucher"
	"seckill/internal/voucher/guards"
)

// fakeTemplates has one template, of a sale, or fails.
type fakeTemplates struct{ err error }

func oneTemplate() template.Template {
	v := seckillVoucher().Voucher
	v.VisibleFrom = v.Sale.Begin.Add(-time.Hour)
	v.Sale.OfferWithin = time.Minute
	v.Sale.Guards = &guards.Settings{Limits: &guards.Limits{PerUser: &guards.Rate{Requests: 5, Seconds: 10}}}
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
		Figures: rehearsal.Figures{
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
func (f fakeRehearsals) Report(context.Context, int64, rehearsal.Figures, bool) error { return f.err }

// fakeReports has a report with something everywhere, or fails.
type fakeReports struct{ err error }

// guardsOfReport has counted something.
func guardsOfReport(context.Context, order.SaleRef) (guard.Figures, error) {
	return guard.Figures{
		Counts:  map[guard.Count]int64{"stop:limits": 60, "dry:coolDown": 4, "units:day": 1, "units:older": 2},
		Stopped: []guard.NetworkCount{{Network: "192.0.2.0/24", Count: 50}, {Network: guard.OtherNetworks, Count: 14}},
		Units:   []guard.NetworkCount{{Network: "2001:db8::/48", Count: 3}},
	}, nil
}

// Of returns it.
func (f fakeReports) Of(ctx context.Context, _ int64) (report.Report, error) {
	v, counts := seckillVoucher().Voucher, order.Counts{"accepted": 3, "sold_out": 40}
	shown, lines, err := GuardFigures(guardsOfReport)(ctx, v)
	return report.Report{
		Voucher: v, Waitlist: &waitlist.Sums{Joined: 9}, Sums: report.Sums{Issued: 10, Paid: report.Tally{Orders: 1}},
		Guards: report.Guards{Shown: shown, Lines: lines, Unread: true},
		Timeline: report.Timeline{
			Answers: counts, Spoilt: 1, FirstAccepted: noon, LastAccepted: noon, SoldOut: noon, Step: time.Second,
			Points: []report.Point{{At: noon, Counts: counts}},
		},
	}, errors.Join(err, f.err)
}

// Orders yields one.
func (f fakeReports) Orders(_ context.Context, _ int64, _ bool, yield func([]report.ExportRow) error) error {
	if f.err != nil {
		return f.err
	}
	return yield([]report.ExportRow{{Order: orderIn(order.Paid), Coupon: feature.Coupon{Code: "ABCD"}}})
}

// Seconds yields one.
func (f fakeReports) Seconds(_ context.Context, _ int64, yield func([]report.Point) error) error {
	if f.err != nil {
		return f.err
	}
	return yield([]report.Point{{At: noon, Counts: order.Counts{"accepted": 3}}})
}

// Sales returns two.
func (f fakeReports) Sales(context.Context, report.Phase, int64, int) ([]report.Sale, error) {
	sale := report.Sale{
		VoucherID: 5, ShopID: 2, Title: "券", Begin: noon, End: noon, Phase: report.Ended,
		Sums: report.SalesSums{Sales: 1},
	}
	return []report.Sale{sale, sale}, f.err
}

// SalesSums returns those of ended sales.
func (f fakeReports) SalesSums(context.Context) (map[report.Phase]report.SalesSums, error) {
	return map[report.Phase]report.SalesSums{report.Ended: {Sales: 2, Issued: 20}}, f.err
}

// featureRoutes are those of all features on fakes, which fail with err if it is not nil.
func featureRoutes(err error) []httpkit.Route {
	bodies := httpkit.Bodies{Limit: testBodyLimit}
	return slices.Concat(
		template.Routes(fakeTemplates{err}, bodies),
		rehearsal.Routes(fakeRehearsals{err}, httpkit.Front{
			Orders: OrderPages(fakeOrders{}), Bodies: bodies, Now: func() time.Time { return noon },
		}),
		report.Routes(fakeReports{err}, report.HTTP{
			Note:    func(context.Context, voucher.Entry) error { return err },
			Streams: httpkit.NewStreams(20_000, 10), Now: func() time.Time { return noon },
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
