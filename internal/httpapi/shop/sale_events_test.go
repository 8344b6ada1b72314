package shop_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/authtoken"
	"seckill/internal/kit/histogram"
	"seckill/internal/order"
	"seckill/internal/order/audit"
	"seckill/internal/order/gate"
	"seckill/internal/voucher"
)

// saleStatsDocument is saleStats() as admins read it, with a count for each answer of admission.
func saleStatsDocument(t *testing.T) string {
	t.Helper()
	refused := map[string]int64{}
	for _, answer := range gate.Answers() {
		if answer != "accepted" {
			refused[strings.ToUpper(string(answer))] = saleStats().Answers[answer]
		}
	}
	counts, err := json.Marshal(refused)
	if err != nil {
		t.Fatal(err)
	}
	if refused["SOLD_OUT"] != 5 || refused["UNKNOWN_OUTCOME"] != 1 {
		t.Errorf("refused: %s", counts)
	}
	return strings.Replace(saleStatsTemplate, "COUNTS", string(counts), 1)
}

const saleStatsTemplate = `{"at":"2026-01-02T12:00:00.000Z","saleState":"on_sale",` +
	`"beginTime":"2026-01-02T11:00:00.000Z",` +
	`"endTime":"2026-01-02T13:00:00.000Z","epoch":2,"sequence":9,"issued":10,"stock":3,` +
	`"held":7,"recorded":6,"stale":false,"accepted":8,"refused":COUNTS,` +
	`"guards":{"settings":{"conditions":{"minLevel":2,"dryRun":true}},` +
	`"stopped":{"challenge":0,"conditions":0,"coolDown":0,"limits":4,"tickets":0},` +
	`"wouldStop":{"challenge":0,"conditions":0,"coolDown":2,"limits":0,"tickets":0},` +
	`"unitsByAge":{"day":0,"month":0,"older":0,"unknown":0,"week":3,"year":0},` +
	`"stoppedNetworks":[{"network":"192.0.2.0/24","count":6}],"unitNetworks":[]},` +
	`"waiting":2,"waitingMs":1,"deadLetters":1,` +
	`"balance":{"at":"2026-01-02T12:00:00.120Z","finding":"redis_wrong","why":"redis has 4 too many","issued":10,` +
	`"stock":7,"held":7,"live":6,"difference":4,"lost":0}}`

// watchSale requests the stats of voucher 5 from a listening API.
func watchSale(t *testing.T, a *API) *http.Response {
	t.Helper()
	server := httptest.NewServer(a.Handler())
	t.Cleanup(server.Close)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/admin/voucher/5/live", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", token(t, adminID, authtoken.RoleAdmin))
	resp, err := server.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// The stats come at once and every second, with how long the answers since the ones before took, unless counting began
// anew. A store that is away for a moment does not end the stream, an error does.
func TestSaleEvents(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	a := newAPI(t, withSaleStats(func(id int64) (audit.SaleStats, error) {
		stats := saleStats()
		switch n := asked.Add(1); {
		case id != 5:
			return audit.SaleStats{}, voucher.ErrNotFound
		case n == 2:
			return audit.SaleStats{}, order.ErrUnavailable
		case n == 6:
			return audit.SaleStats{}, errors.New("driver: secret detail")
		default: // the fifth has none: counting began anew
			stats.Took = []histogram.Counts{1: {1000}, 3: {1000, 99, 1}, 4: {1001, 99, 1}, 5: nil}[n]
		}
		return stats, nil
	}))
	resp := watchSale(t, a)
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	document := saleStatsDocument(t)
	want := "retry: 2000\nevent: figures\ndata: " + document +
		"\n\nevent: away\ndata: {}\n\nevent: figures\ndata: " +
		strings.Replace(document, `"guards"`, `"p99Ms":0.375,"guards"`, 1) + "\n\nevent: figures\ndata: " +
		strings.Replace(document, `"guards"`, `"p99Ms":0.25,"guards"`, 1) + "\n\nevent: figures\ndata: " + document +
		"\n\nevent: bye\ndata: {\"reason\":\"unavailable\"}\n\n"
	if diff := cmp.Diff(want, string(got)); diff != "" || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("stream of type %q (-want +got):\n%s", resp.Header.Get("Content-Type"), diff)
	}
	if n := a.Config.Streams.Count(); n != 0 {
		t.Errorf("%d streams are left", n)
	}
}

func TestSaleEventsRefuse(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]struct {
		status int
		code   string
	}{
		voucher.ErrNotFound: {404, "NOT_FOUND"}, voucher.ErrNotSeckill: {409, "NOT_SECKILL"},
		order.ErrUnavailable: {503, "UNAVAILABLE"},
	} {
		a := newAPI(t, withSaleStats(func(int64) (audit.SaleStats, error) { return audit.SaleStats{}, err }))
		wantProblem(t, asAdmin(t, a, request{Method: http.MethodGet, Target: "/admin/voucher/5/live"}),
			want.status, want.code)
	}
	wantProblem(t, asAdmin(t, newAPI(t), request{Method: http.MethodGet, Target: "/admin/voucher/x/live"}),
		http.StatusBadRequest, "INVALID")
}

// Stopping the process does not wait for open streams.
func TestShutdownEndsSaleEvents(t *testing.T) {
	t.Parallel()
	a := newAPI(t, withSaleStats(func(int64) (audit.SaleStats, error) { return saleStats(), nil }))
	lines := bufio.NewScanner(watchSale(t, a).Body)
	last := ""
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "data:") {
			if last == "" {
				a.Config.Streams.End()
			}
			last = lines.Text()
		}
	}
	if last != `data: {"reason":"shutdown"}` {
		t.Errorf("the last event has %q", last)
	}
}
