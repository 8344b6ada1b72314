package report

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/authtoken"
	"seckill/internal/httpapi/httpkit"
	"seckill/internal/kit/histogram"
	"seckill/internal/order"
	"seckill/internal/order/figures"
	"seckill/internal/order/gate"
	"seckill/internal/order/payment"
	"seckill/internal/testkit/apitest"
	"seckill/internal/testkit/featuretest"
	"seckill/internal/voucher"
)

// noon is the time in these tests.
var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// fakeReports has a report and orders, or fails.
type fakeReports struct {
	made   Report
	orders []ExportRow // without coupons, but for the first one
	points []Point
	sales  []Sale
	audit  []AuditRow
	cut    error // after the first page of orders
	err    error // of everything, at once
}

func (f fakeReports) Of(context.Context, int64) (Report, error) { return f.made, f.err }

func (f fakeReports) Orders(_ context.Context, _ int64, whole bool, yield func([]ExportRow) error) error {
	if f.err != nil {
		return f.err
	}
	page := slices.Clone(f.orders)
	page[0].Coupon = maps.Clone(page[0].Coupon)
	page[0].Coupon["code"] = map[bool]string{true: "whole", false: "masked"}[whole]
	if err := yield(page); err != nil || f.cut != nil {
		return errors.Join(err, f.cut)
	}
	return yield(nil)
}

func (f fakeReports) Payments(_ context.Context, _ payment.Filter, yield func([]payment.Payment) error) error {
	if f.err != nil {
		return f.err
	}
	page := []payment.Payment{{
		ID: "pay_1", Number: 7, OrderID: 8, UserID: 42, VoucherID: 5, ShopID: 2, Amount: 1000, Provider: "bank",
		Reference: "=1+1", State: payment.Stuck, CreatedAt: noon, ReceivedAt: noon.Add(time.Second),
		StuckAt: noon.Add(2 * time.Minute), Refusal: "-no",
		Flow: payment.Flow{
			Returned: 300, Dispute: payment.DisputeLost, Disputed: 600, DisputedAt: noon.Add(time.Minute),
		},
	}}
	if err := yield(page); err != nil || f.cut != nil {
		return errors.Join(err, f.cut)
	}
	return yield(nil)
}

func (f fakeReports) Seconds(_ context.Context, _ int64, yield func([]Point) error) error {
	if f.err != nil {
		return f.err
	}
	return yield(f.points)
}

func (f fakeReports) Audit(_ context.Context, of voucher.AuditFilter, yield func([]AuditRow) error) error {
	if f.err != nil {
		return f.err
	}
	return yield(slices.DeleteFunc(slices.Clone(f.audit), func(r AuditRow) bool {
		return of.VoucherID != 0 && of.VoucherID != r.Entry.VoucherID || of.ShopID != 0 && of.ShopID != r.Entry.ShopID
	}))
}

func (f fakeReports) Sales(_ context.Context, _ int64, _ Phase, _ int64, limit int) ([]Sale, error) {
	return f.sales[:min(limit, len(f.sales))], f.err
}

func (f fakeReports) SalesSums(context.Context, int64) (map[Phase]SalesSums, error) {
	return map[Phase]SalesSums{Ended: {Sales: 2, Issued: 20, Sold: 9, Paid: 4, Unpaid: 3, Cents: 4000}}, f.err
}

func (f fakeReports) Taken(context.Context, int64) (Taken, error) {
	since := apitest.Noon().Truncate(24 * time.Hour)
	return Taken{
		Since: since, Received: Flow{3, 3000}, Returned: Flow{1, 1000}, Refunded: Flow{1, 600}, Lost: Flow{1, 400},
	}, f.err
}

// fullReports are reports with something everywhere.
func fullReports() fakeReports {
	counts := gate.Counts{"accepted": 3, "sold_out": 40}
	points := []Point{{At: noon, Counts: counts, Took: histogram.Counts{98, 2}}, {At: noon, Counts: counts}}
	sale := Sale{
		VoucherID: 5, ShopID: 2, Title: "券", Begin: noon, End: noon.Add(time.Hour), Phase: Ended,
		Sums: SalesSums{Sales: 1, Issued: 10},
	}
	return fakeReports{
		made: Report{
			Voucher: voucher.Voucher{
				ID: 5, ShopID: 2, Title: "券", PayValue: 1000,
				Sale: &voucher.Sale{Issued: 10, Begin: noon, End: noon.Add(time.Hour)},
			},
			Timeline: Timeline{
				Answers: counts, Spoilt: 1, FirstAccepted: noon, LastAccepted: noon.Add(time.Second),
				SoldOut: noon.Add(2 * time.Second), Step: time.Second, Took: histogram.Counts{0, 0, 2}, Points: points,
			},
			Sums: Sums{Stock: 7, Issued: 10, Purge: Purge{At: noon, Orders: 2}, Orders: figures.Orders{
				Money:    Money{Received: 4000, Returned: 2500, Stuck: 300, Closed: 200},
				Unpaid:   Tally{Orders: 1, Units: 1, Cents: 1000},
				Paid:     Tally{Orders: 1, Units: 1, Cents: 1000},
				Refunded: Tally{Orders: 2, Units: 2, Cents: 2000}, Failed: Tally{Orders: 1, Units: 1},
			}},
			Waitlist: json.RawMessage(`{"joined":9,"waiting":2,"invited":6,"open":1,"accepted":4,"bought":3,` +
				`"declined":1,"missed":2}`),
			Guards: Member{
				Shown: json.RawMessage(`{"stopped":{"limits":60},` +
					`"stoppedNetworks":[{"network":"192.0.2.0/24","count":50}]}`), Unread: true,
			},
		},
		audit: []AuditRow{
			{
				Entry: voucher.Entry{
					ID: 9, At: noon, By: voucher.Author{AdminID: voucher.FirstAccount, Request: "r-9"}, ShopID: 2,
					Action: voucher.Restocked, VoucherID: 5, Delta: -3, Outcome: voucher.StockRefused,
				},
				Author: voucher.Account{Issuer: "https://login.example", Subject: "=ann"},
			},
			{Entry: voucher.Entry{
				ID: 8, At: noon, By: voucher.Author{Request: "server session"}, Action: voucher.Revoked,
				Changes: []voucher.FieldChange{{Field: "why", To: `a "leak"`}},
			}},
		},
		points: points,
		sales:  []Sale{sale, sale},
		orders: []ExportRow{
			{
				Order:  order.Order{ID: 8, UserID: 42, Amount: 1000, Status: order.Paid, CreatedAt: noon, PaidAt: noon},
				Coupon: map[string]string{"validUntil": "2026-01-02T13:00:00.000Z"},
			},
			{Order: order.Order{
				ID: 9, UserID: 43, Amount: 1000, Status: order.Cancelled, CreatedAt: noon, PayBefore: noon,
				CancelledAt: noon,
			}},
		},
	}
}

// audit keeps what is noted, or fails.
type audit struct {
	noted []voucher.Entry
	err   error
}

func (a *audit) note(_ context.Context, e voucher.Entry) error {
	if a.err == nil {
		a.noted = append(a.noted, e)
	}
	return a.err
}

// front is what the routes need of the core's interface.
func front() httpkit.Front {
	named := func(context.Context, []int64) map[int64]string { return map[int64]string{2: "Bakery"} }
	return httpkit.Front{
		Members: httpkit.Members{"shop": {Shops: named}},
		Streams: featuretest.Streams(), Now: apitest.Noon, ShopOf: featuretest.ShopOf, Zone: time.UTC, Currency: "CNY",
	}
}

// get asks the service as an admin over a connection, which streams need. The error is that of a body without its end.
func get(t *testing.T, reports fakeReports, trail *audit, path string) (status int, body string, err error) {
	t.Helper()
	api := featuretest.Serve(t, Routes(reports, front(), trail.note), nil, apitest.State{})
	server := httptest.NewServer(api)
	defer server.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", apitest.Token(t, apitest.AdminID, authtoken.RoleAdmin))
	answer, err := server.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text), err
}

// download returns the file as its lines.
func download(t *testing.T, trail *audit, path string) (lines [][]string, body string) {
	t.Helper()
	status, body, err := get(t, fullReports(), trail, path)
	if err != nil || status != http.StatusOK {
		t.Fatalf("%s: %d, %v\n%s", path, status, err, body)
	}
	lines, err = csv.NewReader(strings.NewReader(body)).ReadAll() // every line has as many fields as the head
	if err != nil {
		t.Fatalf("%s: %v\n%s", path, err, body)
	}
	return lines, body
}

func TestReportDocument(t *testing.T) {
	t.Parallel()
	status, body, err := get(t, fullReports(), &audit{}, "/admin/voucher/5/report")
	for _, part := range []string{
		`"issued":10,"stock":7,"withdrawn":0,"asked":43,"accepted":3,"refused":{"SOLD_OUT":40}`, `"soldOutSeconds":2`,
		`"revenue":1000`, `"receivedAmount":4000`,
		`"returnedAmount":2500`, `"refundedAmount":2500,"lostAmount":0,"keptAmount":1500,` +
			`"overdrawnAmount":0,"stuckAmount":300,"closedAmount":200`, `"currency":"CNY"`,
		`},"guardsUnread":true`, `"waitlist":{"joined":9,"waiting":2,`,
		`"recorded":{"orders":5,"units":5,"amount":4000}`, `"sold":{"orders":2,"units":2,"amount":2000}`,
		`"timeline":[{"at":"2026-01-02T12:00:00.000Z","accepted":3,"refused":{"SOLD_OUT":40},"p99Ms":0.375},` +
			`{"at":"2026-01-02T12:00:00.000Z","accepted":3,"refused":{"SOLD_OUT":40}}]`,
		`"refused":{"SOLD_OUT":40},"p99Ms":0.5,"unreadableMinutes":1`,
	} {
		if !strings.Contains(body, part) {
			t.Errorf("no %s in %d %s, %v", part, status, body, err)
		}
	}
}

func TestReportsAsCSV(t *testing.T) {
	t.Parallel()
	lines, body := download(t, &audit{}, "/admin/voucher/5/report.csv?bom=true")
	if !strings.HasPrefix(body, "\ufefffigure,value\r\n") {
		t.Errorf("the file begins with %.30q", body)
	}
	figures := make(map[string]string)
	for _, l := range lines {
		figures[l[0]] = l[1]
	}
	for name, want := range map[string]string{
		"at": "2026-01-02T12:00:00.000Z", "voucherId": "5", "title": "券", "asked": "43", "refused.SOLD_OUT": "40",
		"orders.paid.orders": "1", "orders.refunded.amount": "2000", "revenue": "1000", "currency": "CNY",
		"stuckAmount": "300", "closedAmount": "200", "p99Ms": "0.5",
		"guards.stopped.limits": "60", "guards.stoppedNetworks.0.network": "192.0.2.0/24",
		"guards.stoppedNetworks.0.count": "50", "guardsUnread": "true", "waitlist.missed": "2",
		"soldOutTime": "2026-01-02T12:00:02.000Z", "timeline": "", "callOffTime": "",
	} {
		if figures[name] != want {
			t.Errorf("%s is %q, want %q", name, figures[name], want)
		}
	}
	lines, _ = download(t, &audit{}, "/admin/voucher/5/timeline.csv")
	last := len(lines[0]) - 1
	if len(lines) != 4 || strings.Join(lines[0][:3], ",") != "at,accepted,refused.ALREADY_BOUGHT" ||
		lines[1][0] != "2026-01-02T12:00:00.000Z" || lines[1][1] != "3" ||
		lines[0][last] != "p99Ms" || lines[1][last] != "0.375" || lines[2][last] != "" ||
		lines[3][0] != csvEnd || lines[3][1] != "2" {
		t.Errorf("the timeline: %v", lines)
	}
}

// The stock of a sale that was called off is withdrawn, in the report, its file and the list of sales.
func TestReportOfCalledOffSale(t *testing.T) {
	t.Parallel()
	reports := fullReports()
	reports.made.Voucher.Sale.CalledOff, reports.sales[0].CalledOff = noon, noon
	for path, part := range map[string]string{
		"/admin/voucher/5/report":     `"callOffTime":"2026-01-02T12:00:00.000Z","withdrawn":7,"asked":43`,
		"/admin/voucher/5/report.csv": "\r\nstock,7\r\ncallOffTime,2026-01-02T12:00:00.000Z\r\nwithdrawn,7\r\n",
		"/admin/sale?limit=1":         `"phase":"ended","callOffTime":"2026-01-02T12:00:00.000Z","count":1`,
	} {
		if _, body, err := get(t, reports, &audit{}, path); err != nil || !strings.Contains(body, part) {
			t.Errorf("%s has no %q, %v: %s", path, part, err, body)
		}
	}
}

// The audit trail names who signed in by a provider, and a merchant gets their shop's part.
func TestAuditAsCSV(t *testing.T) {
	t.Parallel()
	lines, body := download(t, &audit{}, "/admin/audit.csv?bom=true")
	want := [][]string{
		{
			"\ufeffid", "at", "adminId", "account.issuer", "account.subject", "requestId", "action", "voucherId",
			"changes", "delta", "outcome", "shopId", "shopName",
		},
		{
			"9", "2026-01-02T12:00:00.000Z", "4503599627370496", "https://login.example", "'=ann", "r-9", "stock", "5",
			"", "-3", "refused", "2", "Bakery",
		},
		{
			"8", "2026-01-02T12:00:00.000Z", "0", "", "", "server session", "revoke", "",
			`[{"field":"why","from":"","to":"a \"leak\""}]`, "", "", "", "",
		},
		{csvEnd, "2", "", "", "", "", "", "", "", "", "", "", ""},
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("%s\n%s", diff, body)
	}
	if lines, body = download(t, &audit{}, "/admin/audit.csv?voucherId=5"); len(lines) != 3 {
		t.Errorf("of a voucher: %s", body)
	}
}

// Codes are masked unless they are asked for, and the audit trail says which.
func TestExportOfOrders(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{"": "masked", "?codes=false": "masked", "?codes=true": "whole"} {
		trail := &audit{}
		lines, _ := download(t, trail, "/admin/voucher/5/orders.csv"+query)
		if len(lines) != 4 || lines[1][17] != want || lines[1][18] != "2026-01-02T13:00:00.000Z" ||
			lines[1][2] != "paid" || lines[2][2] != "cancelled" || lines[2][7] != "NOT_PAID_IN_TIME" ||
			lines[2][17] != "" || lines[3][0] != csvEnd || lines[3][1] != "2" {
			t.Errorf("%q: %v", query, lines)
		}
		if noted := trail.noted; len(noted) != 1 || noted[0].Action != voucher.Exported || noted[0].VoucherID != 5 ||
			noted[0].By.AdminID != 7 || noted[0].Changes[0].To != want {
			t.Errorf("%q: the audit trail has %+v", query, noted)
		}
	}
}

// Each head stands above its value: every order of these has another time in each of its columns.
func TestColumnsOfOrders(t *testing.T) {
	t.Parallel()
	at := func(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }
	row := ExportRow{
		Order: order.Order{
			ID: 660_000_000_123_456_789, UserID: 42, Status: order.Redeemed, Quantity: order.QuantityOf(3),
			Amount: 3000, Reason: "no stock", CreatedAt: at(1), PayBefore: at(2), PaidAt: at(3), RedeemedAt: at(4),
			CancelledAt: at(5), RefundingAt: at(6), RefundedAt: at(7), FailedAt: at(8), LapsedAt: at(9),
			Revision: 2,
		},
		Coupon: map[string]string{"code": "ABCD", "validUntil": "2026-01-02T12:10:00.000Z"},
	}
	got := map[string]string{}
	for _, c := range orderColumns("EUR") {
		got[c.head] = c.cell(row)
	}
	want := map[string]string{
		"id": "660000000123456789", "userId": "42", "status": "redeemed", "quantity": "3", "amount": "3000",
		"currency": "EUR", "reason": "no stock", "whyCode": "", "createTime": "2026-01-02T12:01:00.000Z",
		"payBefore": "2026-01-02T12:02:00.000Z",
		"payTime":   "2026-01-02T12:03:00.000Z", "redeemTime": "2026-01-02T12:04:00.000Z",
		"cancelTime":    "2026-01-02T12:05:00.000Z",
		"refundingTime": "2026-01-02T12:06:00.000Z", "refundTime": "2026-01-02T12:07:00.000Z",
		"failTime":  "2026-01-02T12:08:00.000Z",
		"lapseTime": "2026-01-02T12:09:00.000Z", "coupon.code": "ABCD",
		"coupon.validUntil": "2026-01-02T12:10:00.000Z", "number": "9",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("columns (-want +got):\n%s", diff)
	}
	row.Order.Status, row.Order.PayBefore = order.Cancelled, at(5)
	if why := whyCode(row); why != "NOT_PAID_IN_TIME" {
		t.Errorf("cancelled at the deadline: %s", why)
	}
}

// Nothing leaves the service that the audit trail does not know.
func TestExportWithoutAuditTrail(t *testing.T) {
	t.Parallel()
	status, body, err := get(t, fullReports(), &audit{err: order.ErrUnavailable}, "/admin/voucher/5/orders.csv")
	if status != http.StatusServiceUnavailable || strings.Contains(body, "masked") {
		t.Errorf("%d %s, %v", status, body, err)
	}
}

// An export that breaks off has no last line, and its message no end.
func TestExportThatIsCutOff(t *testing.T) {
	t.Parallel()
	reports := fullReports()
	reports.cut = order.ErrUnavailable
	_, body, err := get(t, reports, &audit{}, "/admin/voucher/5/orders.csv")
	if err == nil || !strings.Contains(body, "masked") || strings.Contains(body, csvEnd) {
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

// Every cell stays one cell, for spreadsheets that separate by semicolons, too.
func TestCellsAreQuoted(t *testing.T) {
	t.Parallel()
	for title, want := range map[string]string{
		"a;b": `"a;b"`, "a,b": `"a,b"`, `say "hi"`: `"say ""hi"""`, "a\nb": "\"a\nb\"",
		" a": `" a"`, "a b": "a b", "券": "券",
	} {
		reports := fullReports()
		reports.made.Voucher.Title = title
		status, body, err := get(t, reports, &audit{}, "/admin/voucher/5/report.csv")
		if line := "\r\ntitle," + want + "\r\n"; !strings.Contains(body, line) {
			t.Errorf("%q: no %q in %d %q, %v", title, line, status, body, err)
		}
		cells, err := csv.NewReader(strings.NewReader(body)).ReadAll()
		if err != nil || cells[4][1] != title {
			t.Errorf("%q is read as %q, %v", title, cells[4], err)
		}
	}
}

func TestSalesPage(t *testing.T) {
	t.Parallel()
	status, body, err := get(t, fullReports(), &audit{}, "/admin/sale?limit=1")
	for _, part := range []string{
		`"next":"5"`, `"ended":{"count":2,"issued":20,"sold":9,"paid":4,"unpaid":3,"revenue":4000}`,
		`"running":{"count":0`,
	} {
		if !strings.Contains(body, part) {
			t.Errorf("no %s in %d %s, %v", part, status, body, err)
		}
	}
}
