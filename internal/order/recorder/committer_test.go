package recorder

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"seckill/internal/order"
	"seckill/internal/order/ordertest"
)

// counting counts the committer's observations.
type counting struct {
	ordertest.NopObserver

	retried, rejected int
}

func (c *counting) RecordRetried(error) { c.retried++ }
func (c *counting) Rejected()           { c.rejected++ }

// stubborn is a ledger that rejects an order also as a failed row.
type stubborn struct{ ordertest.FakeLedger }

func (stubborn) Settle(context.Context, []order.Claim, func(order.LedgerView) []order.Decision) error {
	return fmt.Errorf("%w: the table is read-only", order.ErrRejected)
}

// An order that the ledger rejects is counted and logged as rejected, never as retried. If it cannot even fail, the
// last line of the log has the error of the last try.
func TestCommitterRejects(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ledger func(ordertest.FakeLedger) Ledger
		status order.Status
		last   string
	}{
		"as a failed row": {
			func(l ordertest.FakeLedger) Ledger { return l }, order.Failed, "could not be recorded",
		},
		"for good": {
			func(l ordertest.FakeLedger) Ledger { return stubborn{l} }, order.Queued, "the table is read-only",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := ordertest.NewFakeStores(5, ordertest.NewClaim(1, 1, ordertest.VoucherA))
			f.Refuses[1] = true
			var text bytes.Buffer
			log, seen := slog.New(slog.NewTextHandler(&text, nil)), new(counting)
			committer := committer{
				ledger:  c.ledger(ordertest.FakeLedger{FakeStores: f}),
				retrier: retrier{observer: seen, log: log}, repairs: f, notifier: f, observer: seen,
				log: log, busy: new(busySince), epochs: map[int64]int64{},
			}
			committer.record(t.Context(), new(batch), f.Fresh)
			if seen.rejected != 1 || seen.retried != 0 || f.Rows[1].Status != c.status {
				t.Errorf("rejected %d times, retried %d times, the order is %s; want 1, 0, %s",
					seen.rejected, seen.retried, f.Rows[1].Status, c.status)
			}
			lines := strings.Split(strings.TrimSpace(text.String()), "\n")
			if !strings.Contains(lines[0], "rejects an accepted order") ||
				!strings.Contains(lines[len(lines)-1], c.last) {
				t.Errorf("log:\n%s", text.String())
			}
		})
	}
}
