package httpapi

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/order"
	"seckill/internal/voucher"
)

func figures() order.Figures {
	return order.Figures{
		Pulse: order.Pulse{
			View: order.SaleView{
				Mark: order.Mark{Epoch: 2, Sequence: 9}, Stock: 3, Buyers: 7, Now: noon, Begin: noon.Add(-time.Hour), End: noon.Add(time.Hour),
			},
			State:   voucher.StateOnSale,
			Told:    order.Counts{order.ToldAccepted: 8, order.ToldSoldOut: 5, order.ToldUnknown: 1},
			Waiting: 2, Oldest: 1500 * time.Microsecond, Dead: 1,
		},
		Issued: 10, Recorded: 6,
		Balance: &order.Balance{
			At: redisNoon, Finding: order.RedisWrong, Why: "redis has 4 too many", RedisDifference: 4,
			Ledger: order.Account{Issued: 10, Live: 6}, Redis: order.Holdings{Stock: 7, Places: 7},
		},
	}
}

const figuresDocument = `{"at":"2026-01-02T12:00:00Z","saleState":"on_sale","beginTime":"2026-01-02T11:00:00Z","endTime":"2026-01-02T13:00:00Z",` +
	`"epoch":2,"sequence":9,"issued":10,"stock":3,"held":7,"recorded":6,"stale":false,"accepted":8,` +
	`"refused":{"ALREADY_BOUGHT":0,"ENDED":0,"NOT_STARTED":0,"OFF_SHELF":0,"PAUSED":0,"SOLD_OUT":5,"UNAVAILABLE":0,"UNKNOWN_OUTCOME":1},` +
	`"waiting":2,"waitingMs":1,"deadLetters":1,` +
	`"balance":{"at":"2026-01-02T12:00:00.12Z","finding":"redis_wrong","why":"redis has 4 too many","issued":10,"stock":7,"held":7,"live":6,"difference":4,"lost":0}}`

// watchSale asks an API that listens for the figures of voucher 5.
func watchSale(t *testing.T, a *API) *http.Response {
	t.Helper()
	server := httptest.NewServer(a.Handler())
	t.Cleanup(server.Close)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/admin/voucher/5/live", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", token(t, adminID, RoleAdmin))
	resp, err := server.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// The figures come at once and every second; a store that is away for a moment does not end the stream, an error does.
func TestSaleEvents(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	a := newAPI(t, func(cfg *Config) {
		cfg.Monitor = fakeMonitor(func(id int64) (order.Figures, error) {
			switch n := asked.Add(1); {
			case id != 5:
				return order.Figures{}, voucher.ErrNotFound
			case n == 2:
				return order.Figures{}, order.ErrUnavailable
			case n == 4:
				return order.Figures{}, errors.New("driver: secret detail")
			}
			return figures(), nil
		})
	})
	resp := watchSale(t, a)
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	want := "retry: 2000\nevent: figures\ndata: " + figuresDocument + "\n\nevent: away\ndata: {}\n\nevent: figures\ndata: " + figuresDocument +
		"\n\nevent: bye\ndata: {\"reason\":\"unavailable\"}\n\n"
	if diff := cmp.Diff(want, string(got)); diff != "" || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("stream of type %q (-want +got):\n%s", resp.Header.Get("Content-Type"), diff)
	}
	if n := a.streams.count(); n != 0 {
		t.Errorf("%d streams are left", n)
	}
}

func TestSaleEventsRefuse(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]struct {
		status int
		code   string
	}{
		voucher.ErrNotFound: {404, "NOT_FOUND"}, voucher.ErrNotSeckill: {409, "NOT_SECKILL"}, order.ErrUnavailable: {503, "UNAVAILABLE"},
	} {
		a := newAPI(t, func(cfg *Config) {
			cfg.Monitor = fakeMonitor(func(int64) (order.Figures, error) { return order.Figures{}, err })
		})
		wantProblem(t, asAdmin(t, a, request{method: http.MethodGet, target: "/admin/voucher/5/live"}), want.status, want.code)
	}
	wantProblem(t, asAdmin(t, newAPI(t), request{method: http.MethodGet, target: "/admin/voucher/x/live"}), http.StatusBadRequest, "INVALID")
}

// Whoever stops the process does not wait for those who watch.
func TestSaleEventsEndWithTheProcess(t *testing.T) {
	t.Parallel()
	a := newAPI(t, func(cfg *Config) {
		cfg.Monitor = fakeMonitor(func(int64) (order.Figures, error) { return figures(), nil })
	})
	lines := bufio.NewScanner(watchSale(t, a).Body)
	last := ""
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "data:") {
			if last == "" {
				a.streams.end()
			}
			last = lines.Text()
		}
	}
	if last != `data: {"reason":"shutdown"}` {
		t.Errorf("the last word is %q", last)
	}
}
