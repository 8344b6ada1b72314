package httpapi

import (
	"context"
	"encoding/csv"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/authtoken"
	"seckill/internal/guard"
	"seckill/internal/order"
	"seckill/internal/order/report"
	"seckill/internal/voucher"
)

// fakeReports has a report and orders, or fails.
type fakeReports struct {
	made   report.Report
	orders [][]report.ExportRow
	points []report.Point
	sales  []report.Sale
	err    error
	cut    error // after the first page of orders
}

func (f fakeReports) Of(context.Context, int64) (report.Report, error) { return f.made, f.err }

func (f fakeReports) Orders(_ context.Context, _ int64, yield func([]report.ExportRow) error) error {
	if f.err != nil {
		return f.err
	}
	for _, page := range append(f.orders, nil) {
		if err := yield(page); err != nil || f.cut != nil {
			return errors.Join(err, f.cut)
		}
	}
	return nil
}

func (f fakeReports) Seconds(_ context.Context, _ int64, yield func([]report.Point) error) error {
	if f.err != nil {
		return f.err
	}
	return yield(f.points)
}

func (f fakeReports) Sales(_ context.Context, _ report.Phase, _ int64, limit int) ([]report.Sale, error) {
	return f.sales[:min(limit, len(f.sales))], f.err
}

func (f fakeReports) SalesSums(context.Context) (map[report.Phase]report.SalesSums, error) {
	return map[report.Phase]report.SalesSums{report.Ended: {Sales: 2, Issued: 20, Sold: 9, Paid: 4, Cents: 4000}}, f.err
}

// fullReports are reports with something everywhere.
func fullReports() fakeReports {
	counts := order.Counts{"accepted": 3, "sold_out": 40}
	sale := report.Sale{
		VoucherID: 5, ShopID: 2, Title: "券", Begin: noon, End: noon.Add(time.Hour), Phase: report.Ended,
		Sums: report.SalesSums{Sales: 1, Issued: 10},
	}
	return fakeReports{
		made: report.Report{
			Voucher: seckillVoucher().Voucher, Answers: counts, Spoilt: 1, FirstAccepted: noon,
			LastAccepted: noon.Add(time.Second), SoldOut: noon.Add(2 * time.Second),
			Sums: report.Sums{
				Stock: 7, Issued: 10, Unpaid: report.Tally{Orders: 1, Units: 1, Cents: 1000},
				Paid:     report.Tally{Orders: 1, Units: 1, Cents: 1000},
				Refunded: report.Tally{Orders: 2, Units: 2, Cents: 2000}, Failed: report.Tally{Orders: 1, Units: 1},
			},
			Waitlist: &report.Waitlist{Joined: 9, Waiting: 2, Offered: 6, Open: 1, Accepted: 4, Bought: 3, Passed: 2},
			Guards: guard.Figures{
				Counts: map[guard.Count]int64{"stop:limits": 60, "dry:coolDown": 4, "units:day": 1, "units:older": 2},
				Stopped: []guard.NetworkCount{
					{Network: "192.0.2.0/24", Count: 50}, {Network: guard.OtherNetworks, Count: 14},
				},
				Units: []guard.NetworkCount{{Network: "2001:db8::/48", Count: 3}},
			},
			Step: time.Second, Points: []report.Point{{At: noon, Counts: counts}},
		},
		points: []report.Point{{At: noon, Counts: counts}},
		sales:  []report.Sale{sale, sale},
		orders: [][]report.ExportRow{{
			{Order: order.Order{
				ID: orderID, UserID: 42, Amount: 1000, Status: order.Paid, CreatedAt: noon, PaidAt: redisNoon,
			}, Units: 1, Code: "ABCDEFGHJKMNPQRS"},
			{
				Order: order.Order{ID: orderID + 1, UserID: 43, Amount: 1000, Status: order.Cancelled, CreatedAt: noon},
				Units: 1, Expired: true,
			},
		}},
	}
}

func withReport(cfg *Config) { cfg.Reports = fullReports() }

// get asks as an admin over a connection, which streams need. The error is that of a body without its end.
func get(t *testing.T, a *API, path string) (status int, body string, err error) {
	t.Helper()
	server := httptest.NewServer(a.Handler())
	defer server.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", token(t, adminID, authtoken.RoleAdmin))
	answer, err := server.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text), err
}

// download returns the file as its lines, with the status.
func download(t *testing.T, change func(*Config), path string) (status int, lines [][]string, body string) {
	t.Helper()
	status, body, err := get(t, newAPI(t, change), path)
	if err != nil || status != http.StatusOK {
		return status, nil, body
	}
	lines, err = csv.NewReader(strings.NewReader(body)).ReadAll() // every line has as many fields as the head
	if err != nil {
		t.Fatalf("%s: %v\n%s", path, err, body)
	}
	return status, lines, body
}

func TestReportDocument(t *testing.T) {
	t.Parallel()
	w := asAdmin(t, newAPI(t, withReport), request{method: http.MethodGet, target: "/admin/voucher/5/report"})
	for _, part := range []string{
		`"issued":10,"stock":7,"asked":43,"accepted":3,"refused":{"SOLD_OUT":40}`, `"soldOutSeconds":2`,
		`"revenue":1000`, `"received":3000`,
		`"stopped":{"challenge":0,"conditions":0,"coolDown":0,"limits":60,"tickets":0}`,
		`"unitNetworks":[{"network":"2001:db8::/48","count":3}]`,
		`"recorded":{"orders":5,"units":5,"amount":4000}`, `"sold":{"orders":2,"units":2,"amount":2000}`,
		`"timeline":[{"at":"2026-01-02T12:00:00Z","accepted":3,"refused":{"SOLD_OUT":40}}]`,
	} {
		if !strings.Contains(w.Body.String(), part) {
			t.Errorf("no %s in %d %s", part, w.Code, w.Body)
		}
	}
}

func TestReportsAsCSV(t *testing.T) {
	t.Parallel()
	_, lines, body := download(t, withReport, "/admin/voucher/5/report.csv?bom=true")
	if !strings.HasPrefix(body, "\ufefffigure,value\r\n") {
		t.Errorf("the file begins with %.30q", body)
	}
	figures := make(map[string]string)
	for _, l := range lines {
		figures[l[0]] = l[1]
	}
	for name, want := range map[string]string{
		"title": "券", "asked": "43", "refused_sold_out": "40", "refused_ended": "0", "paid_orders": "1",
		"refunded_cents": "2000", "revenue_cents": "1000", "guard_limits_stopped": "60",
		"guard_cool_down_would_stop": "4", "guard_tickets_stopped": "0", "units_age_older": "2", "units_age_week": "0",
		"stopped_network 192.0.2.0/24": "50", "units_network 2001:db8::/48": "3",
	} {
		if figures[name] != want {
			t.Errorf("%s is %q, want %q", name, figures[name], want)
		}
	}
	_, lines, _ = download(t, withReport, "/admin/voucher/5/timeline.csv")
	if len(lines) != 3 || lines[0][0] != "time" || lines[1][0] != "2026-01-02T12:00:00Z" || lines[1][1] != "3" ||
		lines[2][0] != csvEnd || lines[2][1] != "1" {
		t.Errorf("the timeline: %v", lines)
	}
}

// Codes are masked unless they are asked for, and the audit trail says which.
func TestExportOfOrders(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]struct{ code, shown string }{
		"":             {"····-····-····-PQRS", "masked"},
		"?codes=false": {"····-····-····-PQRS", "masked"},
		"?codes=true":  {"ABCD-EFGH-JKMN-PQRS", "whole"},
	} {
		var noted []voucher.Entry
		_, lines, _ := download(t, func(cfg *Config) {
			withReport(cfg)
			cfg.Audit = notingAudit{&noted}
		}, "/admin/voucher/5/orders.csv"+query)
		if len(lines) != 4 || lines[1][15] != want.code || lines[1][2] != "paid" || lines[2][2] != "expired" ||
			lines[2][15] != "" || lines[3][0] != csvEnd || lines[3][1] != "2" {
			t.Errorf("%q: %v", query, lines)
		}
		if len(noted) != 1 || noted[0].Action != voucher.Exported || noted[0].VoucherID != 5 ||
			noted[0].By.AdminID != adminID || noted[0].Changes[0].To != want.shown {
			t.Errorf("%q: the audit trail has %+v", query, noted)
		}
	}
}

// notingAudit keeps what is noted, or fails.
type notingAudit struct{ noted *[]voucher.Entry }

func (a notingAudit) Entries(context.Context, voucher.AuditFilter, int64, int) ([]voucher.Entry, error) {
	return nil, nil
}

func (a notingAudit) Note(_ context.Context, e voucher.Entry) error {
	if a.noted == nil {
		return order.ErrUnavailable
	}
	*a.noted = append(*a.noted, e)
	return nil
}

// Nothing leaves the service that the audit trail does not know.
func TestExportWithoutAuditTrail(t *testing.T) {
	t.Parallel()
	status, _, body := download(t, func(cfg *Config) {
		withReport(cfg)
		cfg.Audit = notingAudit{}
	}, "/admin/voucher/5/orders.csv")
	if status != http.StatusServiceUnavailable || strings.Contains(body, "PQRS") {
		t.Errorf("%d %s", status, body)
	}
}

// An export that breaks off has no last line, and its message no end.
func TestExportThatIsCutOff(t *testing.T) {
	t.Parallel()
	reports := fullReports()
	reports.cut = order.ErrUnavailable
	a := newAPI(t, func(cfg *Config) { cfg.Reports = reports })
	_, body, err := get(t, a, "/admin/voucher/5/orders.csv")
	if err == nil || !strings.Contains(body, "PQRS") || strings.Contains(body, csvEnd) {
		t.Errorf("%v after %q", err, body)
	}
}

// No text becomes a formula of a spreadsheet.
func TestCells(t *testing.T) {
	t.Parallel()
	got := make(map[string]string)
	want := map[string]string{
		"=1+1": "'=1+1", "+1": "'+1", "-1": "'-1", "@SUM(A1)": "'@SUM(A1)", "\t=1": "'\t=1", "\r=1": "'\r=1",
		"|x": "'|x", "＝1": "'＝1", "＠x": "'＠x", "（券）": "（券）",
		"a=b": "a=b", "券": "券", "": "", "'": "'",
	}
	for text := range want {
		got[text] = cell(text)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("cells (-want +got):\n%s", diff)
	}
}

func TestSalesPage(t *testing.T) {
	t.Parallel()
	w := asAdmin(t, newAPI(t, withReport), request{method: http.MethodGet, target: "/admin/sale?limit=1"})
	for _, part := range []string{
		`"next":"5"`, `"ended":{"count":2,"issued":20,"sold":9,"paid":4,"revenue":4000}`, `"running":{"count":0`,
	} {
		if !strings.Contains(w.Body.String(), part) {
			t.Errorf("no %s in %d %s", part, w.Code, w.Body)
		}
	}
}
