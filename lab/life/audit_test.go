package life

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"seckill/internal/order"
	"seckill/internal/order/audit"
	"seckill/internal/order/gate"
	"seckill/internal/telemetry"
	"seckill/internal/voucher"
)

// TestAuditUnderLoad lets an auditor check all the time, during purchases, cancels and changes of stock: it reaches
// decisions, and never raises a false alarm. Once nothing is under way it accounts for every unit.
func TestAuditUnderLoad(t *testing.T) {
	t.Parallel()
	const lasts, within, clients, least = 3 * time.Second, 2 * time.Minute, 32, 100
	s := newEnv(t)
	p := newProcess(s.stores, func(gate.Batch) {})
	s.dead = append(s.dead, p)
	now := time.Now()
	created, err := p.vouchers.CreateSeckill(t.Context(), admin,
		voucher.Draft{ShopID: 1, Title: "100 for 10", PayValue: 10_00, ActualValue: 100_00, PerUser: 1},
		voucher.SaleDraft{Stock: 20_000, Begin: now.Add(-time.Minute), End: now.Add(time.Hour)})
	must(t, err)
	auditor := audit.New(audit.Stores{
		Vouchers: s.stores.sql, Totals: s.stores.sql.LedgerTotals, Inventory: s.stores.redis.Inventory,
	}, p.repairs, telemetry.NewMetrics(telemetry.Build{}), s.stores.log)

	working, stop := context.WithCancel(t.Context())
	defer stop()
	var jobs, load sync.WaitGroup
	for _, run := range []func(context.Context) error{p.newRecorder().Run, p.outbox.Run} {
		jobs.Go(func() { _ = run(working) }) // its error says only that it was stopped
	}
	buying, done := context.WithTimeout(t.Context(), within)
	defer done()
	var users, bought, cancelled, changes atomic.Int64
	for range clients {
		load.Go(func() {
			for buying.Err() == nil {
				o, err := p.buy(t.Context(), users.Add(1), created.ID, order.OneUnit, time.Second)
				if err != nil {
					continue // sold out at the moment
				}
				if bought.Add(1); rand.IntN(3) > 0 {
					continue
				}
				if _, err := p.orders.Cancel(t.Context(), o.UserID, o.ID); err == nil {
					cancelled.Add(1)
				}
			}
		})
	}
	load.Go(func() {
		for i := range 1 << 30 {
			if buying.Err() != nil {
				return
			}
			delta := []int64{7, -5}[i%2]
			_, _, err := p.vouchers.AddStock(t.Context(), admin, created.ID, delta, time.Now().String())
			if short := (*voucher.InsufficientStockError)(nil); err == nil || errors.As(err, &short) {
				changes.Add(1)
			}
		}
	})
	checks, decided := 0, 0
	began := time.Now()
	enough := func() bool {
		return bought.Load() >= least && cancelled.Load() >= least/10 && changes.Load() >= 5 && decided >= 5
	}
	for ; buying.Err() == nil && (time.Since(began) < lasts || !enough()); checks++ {
		b, err := auditor.Check(t.Context(), created.ID)
		must(t, err)
		if b.Finding.Broken() {
			t.Fatalf("%s: %s; redis %+v, ledger %+v", b.Finding, b.Why, b.Redis, b.Ledger)
		}
		if b.Finding == audit.Balanced {
			decided++
		}
	}
	done()
	load.Wait()
	t.Logf("%d bought, %d cancelled, %d changes of stock; %d of %d checks decided",
		bought.Load(), cancelled.Load(), changes.Load(), decided, checks)
	if !enough() {
		t.Error("too little load, or no check decided")
	}
	var last audit.Balance
	for end := time.Now().Add(quiesceTimeout); last.Finding != audit.Balanced || !last.Complete ||
		last.Redis.Waiting > 0; {
		last, err = auditor.Check(t.Context(), created.ID)
		must(t, err)
		if last.Finding.Broken() || time.Now().After(end) {
			t.Fatalf("quiescent: %s: %s; redis %+v, ledger %+v", last.Finding, last.Why, last.Redis, last.Ledger)
		}
	}
	stop()
	jobs.Wait()
}
