package redemption_test

import (
	"log/slog"
	"testing"

	"seckill/internal/feature"
	"seckill/internal/feature/redemption"
	"seckill/internal/testkit/ledgertest"
)

// The start of a process makes the first key of codes, and finds it the next time. A row that is no key does not stop
// it; a ledger that does not answer does.
func TestStart(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) {
		parts, err := redemption.New().Open(
			feature.Core{DB: l.DB(), Orders: l.Features, Log: slog.New(slog.DiscardHandler)})
		if err != nil || len(parts.Start) != 1 || !parts.Members.Has("coupon") {
			t.Fatalf("%+v, %v", parts, err)
		}
		start := parts.Start[0]
		if err := start(ledgertest.Cancelled(t)); err == nil {
			t.Error("it started without its ledger")
		}
		for range 2 {
			if err := start(t.Context()); err != nil {
				t.Error(err)
			}
			if n := l.Number(t, "SELECT COUNT(*) FROM tb_setting WHERE name LIKE 'coupon_key_%'"); n != 1 {
				t.Errorf("%d keys", n)
			}
		}
		l.Exec(t, "UPDATE tb_setting SET value = 'short' WHERE name = 'coupon_key_00'")
		if err := start(t.Context()); err != nil {
			t.Errorf("beside a spoilt key: %v", err)
		}
	})
}
