package life

import (
	"errors"
	"testing"
	"time"

	"seckill/internal/order"
	"seckill/internal/voucher"
)

// TestTakeStockFromShares: an admin takes more units of a split sale than any share has, whatever happens to the calls by which units
// move and are taken. Repeated with its key until it is answered, it takes them once; what is left is too few for the next.
func TestTakeStockFromShares(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	const shares, units, taken = 3, 12, 9
	e.underFaults(t, shares, units, map[string]callFault{
		"no fault":                    {},
		"a request's answer is lost":  {"request move", answerLost},
		"it dies before the request":  {"request move", diesBefore},
		"Redis's answer is lost":      {"apply", answerLost},
		"it dies before Redis":        {"apply", diesBefore},
		"it dies after Redis":         {"apply", diesAfter},
		"the ledger's answer is lost": {"complete operations", answerLost},
		"it dies before the ledger":   {"complete operations", diesBefore},
		"it dies after the ledger":    {"complete operations", diesAfter},
		"the change's answer is lost": {"change stock", answerLost},
		"it dies before the change":   {"change stock", diesBefore},
		"it dies after the change":    {"change stock", diesAfter},
	}, func(t *testing.T, b *splitBuyers, voucherID int64) {
		for range 2 { // once answered, asking again changes nothing
			b.takes(t, voucherID, taken)
		}
		for range 2 { // what a dead process had begun: what is taken, then given
			must(t, b.p.outbox.Flush(t.Context(), voucherID))
		}
		_, _, err := b.p.vouchers.AddStock(t.Context(), admin, voucherID, taken-units-1, "more")
		if few, is := errors.AsType[*voucher.InsufficientStockError](err); !is || few.Left != units-taken {
			t.Errorf("taking more than is left: %v", err)
		}
		e.splitStocks(t, b.p, voucherID, units-taken, 0)
	})
}

// takes has an admin take units of a sale's stock, again and again with one key until that is answered.
func (b *splitBuyers) takes(t *testing.T, voucherID, units int64) {
	t.Helper()
	var err error
	for end := time.Now().Add(quiesceTimeout); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if _, _, err = b.p.vouchers.AddStock(t.Context(), admin, voucherID, -units, "less"); err == nil {
			return
		}
		if b.p.faults.isDead() { // the next one goes on
			b.dead = append(b.dead, b.p)
			b.p = newProcess(b.stores, func(order.Batch) {})
			continue
		}
		if !errors.Is(err, voucher.ErrUndecided) && !errors.Is(err, errInjected) {
			t.Fatalf("taking %d units: %v", units, err)
		}
	}
	t.Fatalf("%d units are not taken within %s: %v", units, quiesceTimeout, err)
}
