package httpapi

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"seckill/internal/order/rehearsal"
	"seckill/internal/preflight"
	"seckill/internal/voucher"
)

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
