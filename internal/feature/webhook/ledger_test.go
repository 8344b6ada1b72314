package webhook_test

import (
	"testing"
	"time"

	"gorm.io/gorm"

	"seckill/internal/feature/webhook"
	"seckill/internal/feature/webhook/dispatch"
	"seckill/internal/kit/bulkhead"
	"seckill/internal/order"
	"seckill/internal/testkit/ledgertest"
	"seckill/internal/voucher"
)

const testSecret = dispatch.Secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")

// ledger is one of ledgertest whose transactions write events, and the ledger of those.
type ledger struct {
	ledgertest.Ledger
	*webhooks
}

type webhooks = webhook.Ledger

func withEvents(l ledgertest.Ledger) ledger {
	kept := webhook.NewLedger(l.DB(), l.Features)
	l.Use(kept.Hook())
	return ledger{l, kept}
}

// eachDialect runs the test on an empty, migrated ledger in MariaDB and in SQLite. The test must not change its tables.
func eachDialect(t *testing.T, test func(t *testing.T, l ledger)) {
	t.Helper()
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) { test(t, withEvents(l)) })
}

// sale creates a seckill voucher, at a price in cents.
func (l ledger) sale(tb testing.TB, stock, cents int64) int64 {
	tb.Helper()
	v := ledgertest.Draft()
	v.Kind, v.PayValue = voucher.Seckill, cents
	v.Sale = &voucher.Sale{
		Stock: stock, Issued: stock, Begin: ledgertest.RecordedAt, End: ledgertest.RecordedAt.Add(time.Hour),
	}
	if err := l.CreateVoucher(tb.Context(), &v, ledgertest.Admin); err != nil {
		tb.Fatal(err)
	}
	if _, err := l.RaiseEpoch(tb.Context(), v.ID, 0, order.SaleView{}); err != nil {
		tb.Fatal(err)
	}
	return v.ID
}

// ends takes a paid order its last step.
func (l ledger) ends(tb testing.TB, orderID int64, action order.Action) {
	tb.Helper()
	err := l.DB().WriteRetry(tb.Context(), func(tx *gorm.DB) error {
		locked, err := l.Features.Lock(tx, []int64{orderID})
		if err != nil {
			return err
		}
		_, err = l.Features.Advance(tx, action, ledgertest.RecordedAt, []order.Step{{Order: locked[orderID]}})
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
}

// waits reports whether somebody waits for a connection of a class.
func (l ledger) waits(c bulkhead.Class) bool {
	for _, load := range l.DB().Bulkhead().Loads() {
		if load.Class == c {
			return load.Waiting > 0
		}
	}
	return false
}

// takePermits takes all connections that a class can have.
func (l ledger) takePermits(c bulkhead.Class) (release func()) {
	var taken []bulkhead.Permit
	for permit, ok := l.DB().Bulkhead().Try(c); ok; permit, ok = l.DB().Bulkhead().Try(c) {
		taken = append(taken, permit)
	}
	return func() {
		for _, permit := range taken {
			permit.Release()
		}
	}
}
