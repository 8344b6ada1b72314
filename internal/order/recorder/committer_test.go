package recorder

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

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
type stubborn struct{ *ordertest.FakeStores }

func (stubborn) Settle(context.Context, []order.Claim, func(order.LedgerView) []order.Decision) error {
	return fmt.Errorf("%w: the table is read-only", order.ErrRejected)
}

// An order that the ledger rejects is counted and logged as rejected, never as retried. If it cannot even fail, the
// last line of the log has the error of the last try.
func TestCommitterRejects(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ledger func(*ordertest.FakeStores) Ledger
		status order.Status
		last   string
	}{
		"as a failed row": {
			func(l *ordertest.FakeStores) Ledger { return l }, order.Failed, "could not be recorded",
		},
		"for good": {
			func(l *ordertest.FakeStores) Ledger { return stubborn{l} }, order.Queued, "the table is read-only",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := ordertest.NewFakeStores(5, ordertest.NewClaim(1, 1, ordertest.VoucherA))
			f.Refuses[1] = true
			var text bytes.Buffer
			log, seen := slog.New(slog.NewTextHandler(&text, nil)), new(counting)
			committer := committer{
				ledger:  c.ledger(f),
				retrier: retrier{observer: seen, log: log}, repairs: f, notifier: f, observer: seen,
				log: log, busy: new(busySince), epochs: map[int64]int64{},
			}
			committer.record(t.Context(), new(batch), f.Fresh, time.Now().Add(blameAfter))
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

// unwilling is a ledger that does not commit one order, with an error that nobody knows; or, if it is away, nothing.
type unwilling struct {
	*ordertest.FakeStores

	order int64
	away  *atomic.Bool
}

var errUnknown = errors.New("error 3169 (HY000): Session was killed by a proxy's rule")

func (l unwilling) Insert(ctx context.Context, claims []order.Claim) error {
	if err := l.fails(claims); err != nil {
		return err
	}
	return l.FakeStores.Insert(ctx, claims)
}

func (l unwilling) Settle(
	ctx context.Context, claims []order.Claim, decide func(order.LedgerView) []order.Decision,
) error {
	if err := l.fails(claims); err != nil {
		return err
	}
	return l.FakeStores.Settle(ctx, claims, decide)
}

func (l unwilling) fails(claims []order.Claim) error {
	if l.away.Load() || slices.ContainsFunc(claims, func(c order.Claim) bool { return c.OrderID == l.order }) {
		return errUnknown
	}
	return nil
}

// An unknown error of the ledger never fails an order. If it meets one order alone while others are committed, that
// order is set apart after a minute, and staff hear of it; while nothing is committed, the batch waits.
func TestCommitterMeetsAnUnknownError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var claims []order.Claim
		for id := range int64(8) {
			claims = append(claims, ordertest.NewClaim(id+1, id+1, ordertest.VoucherA))
		}
		f := ordertest.NewFakeStores(20, claims...)
		var text bytes.Buffer
		log, seen := slog.New(slog.NewTextHandler(&text, nil)), new(counting)
		var away atomic.Bool
		away.Store(true)
		committer := committer{
			ledger:  unwilling{f, 6, &away},
			retrier: retrier{observer: seen, log: log}, repairs: f, notifier: f, observer: seen,
			log: log, busy: new(busySince), epochs: map[int64]int64{},
		}
		const outage = 5 * time.Minute
		time.AfterFunc(outage, func() { away.Store(false) })
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour) // it would wait for ever for order 6
		defer cancel()
		start, b := time.Now(), new(batch)
		committer.record(ctx, b, f.Fresh, start.Add(blameAfter))
		if took := time.Since(start); took < outage || took > outage+time.Minute {
			t.Errorf("it took %v, with an outage of %v", took, outage)
		}
		if _, has := f.Rows[6]; has || len(f.Rows) != 7 || len(b.settled) != 7 || seen.rejected != 0 {
			t.Errorf("rows %v, settled %d, rejected %d; want all but order 6", f.Rows, len(b.settled), seen.rejected)
		}
		if n := strings.Count(text.String(), "stays pending"); n != 1 || !strings.Contains(text.String(), "order=6") {
			t.Errorf("log:\n%s", text.String())
		}
	})
}
