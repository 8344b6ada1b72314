package wiring

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"seckill/internal/voucher"
	"seckill/internal/voucher/guards"
)

// A server without guards logs at its start which sales have some.
func TestWarnOfGuards(t *testing.T) {
	t.Parallel()
	plain := voucher.Voucher{ID: 7, Sale: &voucher.Sale{}}
	guarded := voucher.Voucher{ID: 8, Sale: &voucher.Sale{Guards: &guards.Settings{Limits: &guards.Limits{}}}}
	for want, sales := range map[string][]voucher.Voucher{"vouchers=[8]": {plain, guarded}, "": {plain}} {
		var logged bytes.Buffer
		log := slog.New(slog.NewTextHandler(&logged, nil))
		kept := func(context.Context) ([]voucher.Voucher, error) { return sales, nil }
		if err := WarnOfGuards(t.Context(), kept, log); err != nil {
			t.Fatal(err)
		}
		if text := logged.String(); !strings.Contains(text, want) || (text == "") != (want == "") {
			t.Errorf("logged %q, want %q", text, want)
		}
	}
}
